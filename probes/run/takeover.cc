// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/takeover.h"

#include <chrono>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "probes/run/losses.h"
#include "probes/run/session.h"
#include "probes/system/procfs.h"

namespace memflame {
namespace {

ProbeRun run_of_its_own(ProbeRun run, const std::string& agent) {
  run.options.target = {};
  run.options.target.one_by_one = true;
  run.options.own_links = run.options.until_exec = true;
  run.options.passed_over = agent;
  return run;
}

}  // namespace

class Takeover::Leavers : public Observer {
 public:
  std::vector<Left> take() { return std::exchange(left_, {}); }

 private:
  bool look(LiveRun&, double) override { return true; }
  void asked(LiveRun&, double) override {}
  void end(LiveRun&, double) override {}
  void left(const bpf::space_record& record) override {
    left_.push_back({static_cast<pid_t>(record.tgid),
                     {record.comm, ::strnlen(record.comm, sizeof(record.comm))},
                     record.time});
  }

  std::vector<Left> left_;
};

struct Takeover::Begun {
  std::unique_ptr<Session> session;
  std::vector<Wanted> added;
};

Takeover::Takeover(const ProbeRun& run, const std::string& agent)
    : run_(run_of_its_own(run, agent)), leavers_(std::make_unique<Leavers>()) {}

Takeover::~Takeover() {
  if (coming_.valid()) coming_.wait();
  see_whether_begun();
  give_up("");
}

void Takeover::take(pid_t pid, GoOn go_on) {
  if (!counts(pid)) return want({pid, "", std::move(go_on)});
  if (go_on) go_on(true);
  // A forked child is followed since its fork.
  if (covers_.try_emplace(pid, Cover::from_start).second) ++count_;
}

void Takeover::hold(pid_t pid, const std::string& program, GoOn go_on) {
  want({pid, program, std::move(go_on)});
}

void Takeover::want(Wanted wanted) {
  covers_.erase(wanted.pid);
  wanted_.push_back(std::move(wanted));
  if (!failure_.empty()) return give_up(failure_);
  if (session_ || coming_.valid()) return;
  // In a thread: agents do not wait so long for a sign of life.
  coming_ = std::async(std::launch::async, [this, first = std::exchange(wanted_, {})]() mutable {
    return begin(run_, *leavers_, std::move(first));
  });
}

std::unique_ptr<Takeover::Begun> Takeover::begin(const ProbeRun& run, Observer& observer,
                                                 std::vector<Wanted> wanted) {
  auto session = std::make_unique<Session>(std::vector{run}, observer);
  for (const Wanted& each : wanted) session->add_target(each.pid, !each.program.empty());
  session->attach();
  for (const Wanted& each : wanted)
    if (!each.program.empty()) session->expect_program(each.pid, each.program);
  session->poll(0);
  session->arm();
  return std::make_unique<Begun>(Begun{std::move(session), std::move(wanted)});
}

void Takeover::see_whether_begun() {
  using namespace std::chrono_literals;
  if (!coming_.valid() || coming_.wait_for(0s) != std::future_status::ready) return;
  try {
    const std::unique_ptr<Begun> begun = coming_.get();
    session_ = std::move(begun->session);
    added_ = std::move(begun->added);
  } catch (const Error& error) {
    give_up(error.what());
  }
}

// Whoever waits goes on, and is not counted.
void Takeover::give_up(const std::string& why) {
  failure_ = why;
  for (std::vector<Wanted>* list : {&wanted_, &added_})
    for (const Wanted& each : std::exchange(*list, {}))
      if (each.go_on) each.go_on(false);
}

void Takeover::poll() {
  see_whether_begun();
  if (!session_) return;
  session_->poll(0);  // what a process was before is over, before it is added again
  for (Wanted& each : std::exchange(wanted_, {})) {
    if (!each.program.empty()) session_->expect_program(each.pid, each.program);
    session_->add_target(each.pid, !each.program.empty());
    added_.push_back(std::move(each));
  }
  if (added_.empty()) return;
  session_->poll(0);
  if (session_->is_attached()) settle();
}

// All that were added have their probes.
void Takeover::settle() {
  for (const Wanted& each : std::exchange(added_, {})) {
    const bool is_held = each.go_on && each.go_on(true);
    if (!is_held && !is_alive(each.pid)) continue;
    covers_[each.pid] = is_held ? Cover::from_start : Cover::late;
    ++count_;
  }
}

std::vector<Takeover::Left> Takeover::take_left() {
  return session_ ? leavers_->take() : std::vector<Left>{};
}

bool Takeover::let_go(pid_t pid) {
  const bool was_target = counts(pid);
  if (was_target) session_->drop_target(pid);
  count_ -= covers_.erase(pid);
  const auto is_it = [pid](const Wanted& each) { return each.pid == pid; };
  return std::erase_if(wanted_, is_it) + std::erase_if(added_, is_it) != 0 || was_target;
}

void Takeover::disarm() {
  if (coming_.valid()) coming_.wait();
  poll();
  if (session_) session_->disarm();
}

bool Takeover::counts(pid_t pid) const { return session_ && session_->is_target(pid); }

Losses Takeover::losses() const { return session_ ? session_->losses() : Losses{}; }

int64_t Takeover::resident_bytes() const { return session_ ? session_->resident_bytes() : 0; }

uint64_t Takeover::table_bytes() const { return session_ ? session_->table_bytes() : 0; }

Takeover::Cover Takeover::cover(pid_t pid) const {
  const auto known = covers_.find(pid);
  return known == covers_.end() ? Cover::none : known->second;
}

std::vector<pid_t> Takeover::living() const {
  return session_ ? session_->living() : std::vector<pid_t>{};
}

std::optional<Recording> Takeover::so_far() {
  if (!session_) return std::nullopt;
  return session_->so_far();
}

std::optional<Recording> Takeover::finish() {
  if (!session_) return std::nullopt;
  return session_->finish();
}

void Takeover::describe(RunInfo& info) const {
  if (!session_) return;
  RunInfo more;
  session_->describe(more);
  add(info.counters, more.counters);
  info.pids.insert(info.pids.end(), more.pids.begin(), more.pids.end());
  info.without_end += more.without_end;
  info.map_bytes += more.map_bytes;
  if (info.os_growth && more.os_growth)
    *info.os_growth += *more.os_growth;
  else
    info.os_growth.reset();
}

}  // namespace memflame
