// SPDX-License-Identifier: BSD-2-Clause
#include "cli/watch/supervisor.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <iostream>
#include <utility>

#include "cli/watch/child.h"
#include "cli/watch/sender.h"
#include "core/counted.h"
#include "core/error.h"
#include "core/unique_fd.h"
#include "probes/processes/spaces.h"
#include "render/text/clean_text.h"

namespace memflame {
namespace {

constexpr double first_pause = 1, longest_pause = 60, too_dear_pause = 600;  // seconds
constexpr double good_run = 60;      // seconds: a process that ran so long is started again at once
constexpr double cost_interval = 5;  // seconds between two looks at the cost
constexpr double given_up_pause = 600;
constexpr double rules_end = 20, sender_end = 15;  // seconds to end in
constexpr int patience_ms = 500;

uint64_t ns_of(double seconds) { return static_cast<uint64_t>(seconds * 1e9); }

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

}  // namespace

void Supervisor::say(const std::string& text) {
  std::cerr << "memflame: " + clean_text(text) + "\n";
}

Supervisor::Supervisor(std::function<WatchConfig()> read, ReadRule read_rule)
    : read_(std::move(read)),
      read_rule_(std::move(read_rule)),
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
  if (!part.lost) part.lost = std::make_shared<SharedNumber>(0);
  part.table_bytes = std::make_shared<SharedNumber>(0);
  part.unwatched = std::make_shared<SharedNumber>(0);
  part.pid = start_child("memflame-rule", [this, &part] {
    // The same reason is told once, until it is another, or windows are taken again.
    const auto put = [&, told = std::string()](const Window& window) mutable {
      const std::string why = spool_->put(window, part.rule.outputs);
      if (!why.empty() && why != told) say(part.name + ": a window was dropped: " + why);
      told = why;
    };
    const RuleResult result = run_rule(
        part.rule, read_rule_,
        {.put = put,
         .budget_share = [this] { return budget_share_->get(); },
         .tell_table_bytes =
             [&part](uint64_t bytes) { part.table_bytes->set(static_cast<double>(bytes)); },
         .tell_unwatched =
             [&part](uint64_t count) { part.unwatched->set(static_cast<double>(count)); },
         .tell_lost =
             [&part](uint64_t events) {
               part.lost->set(part.lost->get() + static_cast<double>(events));
             }});
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
  for (const RulePart& part : rules_) {
    RuleState& state = states.emplace(part.rule.name, part.state).first->second;
    if (part.pid != 0) state.unwatched = static_cast<uint64_t>(part.unwatched->get());
    if (part.lost) state.lost_events = static_cast<uint64_t>(part.lost->get());
  }
  board_->show(states, budget_.share());
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
