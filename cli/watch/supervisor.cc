// SPDX-License-Identifier: BSD-2-Clause
#include "cli/watch/supervisor.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <utility>

#include "cli/watch/child.h"
#include "cli/watch/rule_run.h"
#include "cli/watch/sender.h"
#include "core/counted.h"
#include "core/error.h"
#include "core/units.h"
#include "probes/processes/spaces.h"
#include "probes/unique_fd.h"
#include "render/text/clean_text.h"

namespace memflame {
namespace {

constexpr double first_pause = 1, longest_pause = 60, too_dear_pause = 600;  // seconds
constexpr double good_run = 60;      // seconds: a process that ran so long is started again at once
constexpr double cost_interval = 5;  // seconds between two looks at the cost
constexpr double start_seconds = 15;  // what a start takes says nothing of the hours to come
constexpr double given_up_pause = 600;
constexpr double rules_end = 20, sender_end = 15;  // seconds to end in
constexpr int patience_ms = 500;

uint64_t ns_of(double seconds) { return static_cast<uint64_t>(seconds * 1e9); }

void say(const std::string& text) { std::cerr << "memflame: " + clean_text(text) + "\n"; }

// Signals that come to this process, one at a time.
class Signals {
 public:
  Signals() {
    sigset_t set;
    ::sigemptyset(&set);
    for (const int signal : {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGCHLD}) ::sigaddset(&set, signal);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    fd_ = UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!fd_) throw Error("signals cannot be received (signalfd)");
  }

  // The next one, or 0 after some time without one.
  int next(int patience) const {
    pollfd entry{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&entry, 1, patience) <= 0) return 0;
    signalfd_siginfo info{};
    return ::read(fd_.get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo)
                                                                : 0;
  }

 private:
  UniqueFd fd_;
};

// Another rule changes what each may have, which is not a reason to begin anew.
bool is_same(WatchRule a, const WatchRule& b) {
  a.memory = b.memory;
  return a == b;
}

std::string percent_text(double percent) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f %%", percent);
  return text.data();
}

}  // namespace

Supervisor::Supervisor(std::function<WatchConfig()> read)
    : read_(std::move(read)),
      config_(read_()),
      spool_(std::make_shared<Spool>(config_.spool_folder, config_.spool_bytes)) {
  for (const WatchRule& rule : config_.rules)
    rules_.push_back({{.name = "rule " + rule.name}, rule});
}

void Supervisor::run() {
  const Signals signals;
  say("watching by " + counted(rules_.size(), "rule") + "; windows wait in " +
      config_.spool_folder);
  looked_ns_ = monotonic_ns();
  while (true) {
    start_what_is_due();
    show_rules();
    const int signal = signals.next(patience_ms);
    if (signal == SIGTERM || signal == SIGINT || signal == SIGQUIT) break;
    if (signal == SIGHUP) reload();
    take_ended();
    if (monotonic_ns() - looked_ns_ >= ns_of(cost_interval)) look_at_cost(monotonic_ns());
  }
  stop_all();
}

void Supervisor::start_what_is_due() {
  const uint64_t now = monotonic_ns();
  if (shipper_.pid == 0 && now >= shipper_.next_ns) start_shipper();
  for (RulePart& part : rules_)
    if (part.pid == 0 && now >= part.next_ns) start(part);
}

void Supervisor::start(RulePart& part) {
  if (!part.words) part.words = std::make_shared<SharedText>();
  part.table_bytes = std::make_shared<SharedNumber>(0);
  part.pid = start_child("memflame-rule", [this, &part] {
    // The same reason is told once, until it is another, or windows are taken again.
    const auto put = [&, told = std::string()](const Window& window) mutable {
      const std::string why = spool_->put(window, part.rule.outputs);
      if (!why.empty() && why != told) say(part.name + ": a window was dropped: " + why);
      told = why;
    };
    const RuleResult result = run_rule(
        part.rule,
        {.put = put,
         .budget_share = [this] { return budget_share_->get(); },
         .tell_table_bytes =
             [&part](uint64_t bytes) { part.table_bytes->set(static_cast<double>(bytes)); }});
    part.words->set(result.problem);
    return static_cast<int>(result.end);
  });
  part.started_ns = monotonic_ns();
  part.processor_seconds = 0;
  part.state.kind = RuleState::Kind::runs;
  ++part.state.starts;
}

void Supervisor::start_shipper() {
  shipper_.pid = start_child("memflame-sender",
                             [this] { return send_windows(spool_, config_.outputs, board_); });
  shipper_.started_ns = monotonic_ns();
  shipper_.processor_seconds = 0;
}

void Supervisor::take_ended() {
  int status = 0;
  for (pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0;
       pid = ::waitpid(-1, &status, WNOHANG)) {
    std::erase(leaving_, pid);
    if (pid == shipper_.pid) ended(shipper_, status);
    for (RulePart& part : rules_)
      if (part.pid == pid) ended_rule(part, status);
  }
}

// What keeps failing is started again later and later.
void Supervisor::ended(Part& part, int status) {
  const uint64_t now = monotonic_ns();
  part.pid = 0;
  const bool was_good = now - part.started_ns >= ns_of(good_run);
  part.pause = was_good ? first_pause : std::clamp(2 * part.pause, first_pause, longest_pause);
  part.next_ns = now + ns_of(part.pause);
  if (WIFSIGNALED(status))
    say(part.name + " was ended by signal " + std::to_string(WTERMSIG(status)) +
        "; it is started again");
}

// What is tried again and again for the same reason says so once.
void Supervisor::ended_rule(RulePart& part, int status) {
  ended(part, status);
  const std::string problem = part.words->take();
  if (!problem.empty() && problem != part.problem) say(part.name + ": " + problem);
  part.problem = problem;
  const auto end = WIFEXITED(status) ? static_cast<RuleEnd>(WEXITSTATUS(status)) : RuleEnd::failed;
  const uint64_t now = monotonic_ns();
  if (part.state.kind == RuleState::Kind::given_up) {
    part.next_ns = now + ns_of(given_up_pause);
  } else if (end == RuleEnd::too_dear) {
    part.state.kind = RuleState::Kind::too_dear;
    part.next_ns = now + ns_of(too_dear_pause);
  } else {
    part.state.kind = RuleState::Kind::waits;
    if (end == RuleEnd::told) part.next_ns = 0;
  }
}

void Supervisor::show_rules() const {
  std::map<std::string, RuleState> states;
  for (const RulePart& part : rules_) states.emplace(part.rule.name, part.state);
  board_->show(states, budget_.share());
}

// Processor time of a process since the last call.
double Supervisor::spent_since(Part& part) {
  if (part.pid == 0) return 0;
  const double seconds = processor_seconds_of(part.pid);
  const double spent = std::max(0.0, seconds - part.processor_seconds);
  part.processor_seconds = seconds;
  return spent;
}

uint64_t Supervisor::memory_of(const RulePart& part) {
  if (part.pid == 0) return 0;
  return own_memory_of(part.pid) + static_cast<uint64_t>(part.table_bytes->get());
}

void Supervisor::look_at_cost(uint64_t now) {
  const double passed = static_cast<double>(now - looked_ns_) / 1e9;
  looked_ns_ = now;
  double used = spent_since(shipper_);
  for (RulePart& part : rules_) {
    const double spent = spent_since(part);
    if (now - part.started_ns > ns_of(start_seconds)) used += spent;
    part.state.processor_seconds += spent;
    const uint64_t taken = part.state.memory_bytes = memory_of(part);
    if (taken <= part.rule.memory) continue;
    say(part.name + " has taken " + iec_bytes(static_cast<int64_t>(taken)) +
        ", more than its part of \"memory\": it begins anew, and blocks from before are not known "
        "any more");
    ::kill(part.pid, SIGTERM);
  }
  const auto processors = static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN));
  keep_within(100 * used / (passed * processors));
}

void Supervisor::keep_within(double percent) {
  const bool can_lower = std::any_of(rules_.begin(), rules_.end(), [](const RulePart& part) {
    return part.pid != 0 && part.rule.is_governed;
  });
  switch (budget_.judge(percent, config_.most_cpu, can_lower)) {
    case HostBudget::Step::give_up:
      give_up_one(percent);
      break;
    case HostBudget::Step::less:
      say("memflame takes " + percent_text(percent) +
          " of this host's processor time, more than \"max_cpu\": rules sample more rarely, "
          "within " +
          percent_text(100 * budget_.share()) + " of \"max_overhead\"");
      break;
    case HostBudget::Step::more:
      if (budget_.share() == 1) say("rules use all of \"max_overhead\" again");
      break;
    case HostBudget::Step::none:
      return;
  }
  budget_share_->set(budget_.share());
}

// The last rule that runs: the first ones matter most.
void Supervisor::give_up_one(double percent) {
  const auto part = std::find_if(rules_.rbegin(), rules_.rend(),
                                 [](const RulePart& each) { return each.pid != 0; });
  if (part == rules_.rend()) return;
  say("memflame takes " + percent_text(percent) +
      " of this host's processor time, more than \"max_cpu\": " + part->name +
      " is given up for ten minutes");
  part->state.kind = RuleState::Kind::given_up;
  ::kill(part->pid, SIGTERM);
}

void Supervisor::stop_rule(RulePart& part) {
  if (part.pid == 0) return;
  ::kill(part.pid, SIGTERM);
  leaving_.push_back(part.pid);
}

// Rules that stay as they are run on, and know what they knew.
void Supervisor::reload() {
  WatchConfig config;
  try {
    config = read_();
  } catch (const Error& error) {
    say(std::string("the configuration stays as it was: ") + error.what());
    return;
  }
  if (config.spool_folder != config_.spool_folder || config.spool_bytes != config_.spool_bytes)
    say("another \"spool\" needs a new start of memflame; it stays as it was");
  std::vector<RulePart> parts;
  for (const WatchRule& rule : config.rules) {
    const auto same = std::find_if(rules_.begin(), rules_.end(),
                                   [&](const RulePart& part) { return is_same(part.rule, rule); });
    if (same == rules_.end()) {
      parts.push_back({{.name = "rule " + rule.name}, rule});
      continue;
    }
    parts.push_back(*same);
    parts.back().rule.memory = rule.memory;
    rules_.erase(same);
  }
  for (RulePart& part : rules_) stop_rule(part);
  rules_ = std::move(parts);
  config_.outputs = config.outputs;
  config_.most_cpu = config.most_cpu;
  // The new outputs are those of a new sender.
  if (shipper_.pid != 0) ::kill(shipper_.pid, SIGTERM);
  shipper_.pause = 0;
  say("the configuration was read again");
}

bool Supervisor::wait_for_all(double seconds) {
  const uint64_t until = monotonic_ns() + ns_of(seconds);
  const auto is_any = [&] {
    return !leaving_.empty() || std::any_of(rules_.begin(), rules_.end(),
                                            [](const RulePart& part) { return part.pid != 0; });
  };
  while (is_any()) {
    if (monotonic_ns() >= until) return false;
    ::poll(nullptr, 0, 20);
    take_ended();
  }
  return true;
}

void Supervisor::stop_all() {
  for (RulePart& part : rules_)
    if (part.pid != 0) ::kill(part.pid, SIGTERM);
  if (!wait_for_all(rules_end)) {
    say("some rules did not end in time; their last windows are missing");
    for (RulePart& part : rules_)
      if (part.pid != 0) ::kill(part.pid, SIGKILL);
    for (const pid_t pid : leaving_) ::kill(pid, SIGKILL);
  }
  if (shipper_.pid == 0) return;
  ::kill(shipper_.pid, SIGTERM);
  const uint64_t until = monotonic_ns() + ns_of(sender_end);
  while (shipper_.pid != 0 && monotonic_ns() < until) {
    ::poll(nullptr, 0, 20);
    take_ended();
  }
  if (shipper_.pid != 0) ::kill(shipper_.pid, SIGKILL);
}

}  // namespace memflame
