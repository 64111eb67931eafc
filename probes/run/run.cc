// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/run.h"

#include "core/error.h"
#include "probes/processes/command.h"
#include "probes/reach/exit_watch.h"
#include "probes/reach/tracing.h"
#include "probes/run/early_stop.h"
#include "probes/run/oom_share.h"
#include "probes/run/privileges.h"
#include "probes/run/requirements.h"
#include "probes/run/run_loop.h"
#include "probes/run/run_notes.h"
#include "probes/run/run_signals.h"
#include "probes/run/session.h"
#include "probes/system/pid_namespace.h"

namespace memflame {
namespace {

constexpr int poll_ms = 10;

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

// Refuses before anything is attached.
void require_reachable_scan(std::span<const pid_t> pids) {
  for (const pid_t pid : pids)
    if (const std::string why = why_not_traceable(pid); !why.empty())
      throw Error("--reachable: " + why, ExitCode::requirement);
}

}  // namespace

Run run_probes(std::span<const ProbeRun> probes, Command* command, Observer& observer) {
  const Probe& probe = *probes.front().probe;
  const ProbeOptions& options = probes.front().options;
  const uint64_t began = monotonic_ns();
  require_own_proc();
  require_kernel_and_privilege();
  for (const pid_t pid : options.target.pids) require_traceable(pid);

  if (options.reachable) require_reachable_scan(options.target.pids);
  const RunSignals signals;
  EarlyStop early(signals, options);
  Run run;
  run.info.memory = plan_memory(options.memory, free_memory());
  step_behind_target(run.info.memory, command != nullptr ? command->pid() : 0);
  Session session(within(run.info.memory, probes), observer);
  Ends ends;
  add_targets(session, options.target, command, ends);
  session.attach();
  session.poll(0);
  // Files that are mapped later may get probes, which before 6.10 may be perf events.
  const bool later_events = session.is_on_functions() && !session.features().uprobe_multi_pid;
  early.counts();
  keep_privileges_for(later_events ? Step::counting_by_perf_events : Step::counting);
  observer.begin(session);

  std::optional<ExitWatch> watch;
  const auto figures = [&session] {
    const bpf::counters counters = session.counters();
    return StatusFigures{counters.events, counters.amount, session.losses().lost_events(),
                         session.map_memory()};
  };
  const auto arm = [&] {
    const uint64_t armed_ns = session.arm();
    if ((options.reachable || options.waste) && command != nullptr)
      watch.emplace(command->pid(), options.reachable ? "--reachable" : "--value " + options.value);
    return armed_ns;
  };
  std::function<std::vector<pid_t>()> descendants;
  if (command != nullptr && options.target.follow_children)
    descendants = [&session] {
      session.poll(0);  // the kernel has told of all that were forked by now
      return session.living();
    };
  const LoopParts parts{.run = session,
                        .arm = arm,
                        .poll =
                            [&] {
                              session.poll(poll_ms);
                              if (watch) session.scan_ending(*watch, command->pid());
                            },
                        .wants_end = [&session] { return session.wants_end(); },
                        .descendants = descendants,
                        .figures = figures,
                        .unit = probe.types(options, false)[0].unit};
  const uint64_t armed =
      begin_counting(parts, options, command, began, ends, signals, observer, run.info);
  count_until_end(parts, options, ends, signals, armed, observer, run.info);
  if (watch) {
    session.scan_ending(*watch, command->pid());
    watch->stop();
  }
  if (options.reachable) session.scan_living();
  session.disarm();
  run.info.seconds = seconds_since(armed);
  observer.end(session, run.info.seconds);
  run.recording = session.finish();
  keep_privileges_for(Step::writing);
  session.describe(run.info);
  run.recording.meta.seconds = run.info.seconds;
  if (const std::string note = memory_note(run.info.memory, run.recording.losses); !note.empty())
    run.recording.meta.notes.push_back(note);
  if (std::string note = pause_note(run.info); !note.empty())
    run.recording.meta.notes.push_back(std::move(note));
  judge_emptiness(nothing_in_words(probes), options, run);
  return run;
}

}  // namespace memflame
