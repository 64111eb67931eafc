// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/run.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

#include "core/units.h"
#include "probes/pids/pid_namespace.h"
#include "probes/processes/command.h"
#include "probes/run/privileges.h"
#include "probes/run/requirements.h"
#include "probes/run/run_notes.h"
#include "probes/run/run_signals.h"
#include "probes/run/session.h"

namespace memflame {
namespace {

constexpr int poll_ms = 10;
constexpr double status_interval_seconds = 0.5;

double seconds_since(uint64_t start_ns) {
  return static_cast<double>(monotonic_ns() - start_ns) / 1e9;
}

// Descriptors that become readable when a process ends.
class Ends {
 public:
  void add(pid_t pid) {
    any_ = true;
    fds_.emplace_back(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  }
  // Whether all of them have ended; false if none was added.
  bool all() {
    std::erase_if(fds_, [](const UniqueFd& fd) {
      pollfd entry{.fd = fd.get(), .events = POLLIN, .revents = 0};
      return !fd || ::poll(&entry, 1, 0) > 0;
    });
    return any_ && fds_.empty();
  }

 private:
  std::vector<UniqueFd> fds_;
  bool any_ = false;
};

class StatusLine {
 public:
  StatusLine(bool on, Unit unit) : on_(on), unit_(unit) {}
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  void clear() {
    if (shown_) std::fprintf(stderr, "\r\033[K");
    shown_ = false;
  }

  // The maximum of memflame's own memory that update() has seen.
  uint64_t own_bytes() const { return own_bytes_; }

  void update(double seconds, Session& session) {
    if (seconds < next_) return;
    next_ = seconds + status_interval_seconds;
    const uint64_t own = own_memory();
    own_bytes_ = std::max(own_bytes_, own);
    if (!on_) return;
    const bpf::counters c = session.counters();
    const uint64_t lost = session.losses().lost_events();
    std::fprintf(stderr, "\r\033[K%.1f s  %s events  %s  lost %s  memory %s", seconds,
                 with_commas(static_cast<int64_t>(c.events)).c_str(),
                 human(static_cast<int64_t>(c.amount), {"", unit_}).c_str(),
                 with_commas(static_cast<int64_t>(lost)).c_str(),
                 iec_bytes(static_cast<int64_t>(own + session.map_memory())).c_str());
    shown_ = true;
  }

 private:
  bool on_, shown_ = false;
  Unit unit_;
  double next_ = 0;
  uint64_t own_bytes_ = 0;
};

void add_targets(Session& session, const Target& target, const Command* command, Ends& ends) {
  for (const pid_t pid : target.pids) ends.add(pid);
  if (command != nullptr) {
    ends.add(command->pid());
    session.add_target(command->pid(), true);
  }
  if (command == nullptr) session.add_present_targets();
}

// Each probe has a table of stacks, and shares the others.
std::vector<ProbeRun> within(const MemoryPlan& plan, std::span<const ProbeRun> probes) {
  std::vector<ProbeRun> runs(probes.begin(), probes.end());
  MemoryPlan share = plan;
  share.max_stacks = plan.max_stacks / static_cast<uint32_t>(probes.size());
  for (ProbeRun& run : runs) run.options = within(share, std::move(run.options));
  return runs;
}

void say_ready(int fd) {
  if (fd < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(fd, "1\n", 2);
}

}  // namespace

Run run_probes(std::span<const ProbeRun> probes, Command* command, Observer& observer) {
  const Probe& probe = *probes.front().probe;
  const ProbeOptions& options = probes.front().options;
  const uint64_t began = monotonic_ns();
  require_own_proc();
  require_kernel_and_privilege();
  for (const pid_t pid : options.target.pids) require_traceable(pid);

  const RunSignals signals;
  Run run;
  run.info.memory = plan_memory(options.memory, free_memory());
  Session session(within(run.info.memory, probes), observer);
  Ends ends;
  add_targets(session, options.target, command, ends);
  session.attach();
  session.poll(0);
  // Files that are mapped later may get probes, which before 6.10 may be perf events.
  const bool later_events = session.is_on_functions() && !session.features().uprobe_multi_pid;
  keep_privileges_for(later_events ? Step::counting_by_perf_events : Step::counting);
  observer.begin(session);
  session.arm();

  const uint64_t armed = monotonic_ns();
  run.info.attach_seconds = static_cast<double>(armed - began) / 1e9;
  say_ready(options.ready_fd);
  if (command != nullptr) command->release();

  {
    StatusLine status(options.status_line, probe.types(options, false)[0].unit);
    while (!ends.all()) {
      session.poll(poll_ms);
      const double seconds = seconds_since(armed);
      if (options.seconds && seconds >= *options.seconds) break;
      if (session.wants_end()) break;
      const int signal = signals.arrived();
      if (is_stop(signal)) {
        run.info.interrupted = signal == SIGTERM;
        break;
      }
      if (signal != 0) status.clear();
      if (signal == SIGUSR1) observer.asked(session, seconds);
      if (signal == SIGUSR2) say_unused(signal);
      if (!observer.look(session, seconds)) break;
      status.update(seconds, session);
    }
    run.info.own_bytes = std::max(status.own_bytes(), own_memory());
  }
  session.disarm();
  run.info.seconds = seconds_since(armed);
  observer.end(session, run.info.seconds);
  run.recording = session.finish();
  keep_privileges_for(Step::writing);
  session.describe(run.info);
  run.recording.meta.seconds = run.info.seconds;
  if (const std::string note = memory_note(run.info.memory, run.recording.losses); !note.empty())
    run.recording.meta.notes.push_back(note);
  judge_emptiness(nothing_in_words(probes), options, run);
  return run;
}

}  // namespace memflame
