// SPDX-License-Identifier: BSD-2-Clause
#include "probes/heaps/go/go_run.h"

#include "core/error.h"
#include "probes/heaps/go/go_heaps.h"
#include "probes/heaps/go/go_session.h"
#include "probes/run/early_stop.h"
#include "probes/run/privileges.h"
#include "probes/run/requirements.h"
#include "probes/run/run_loop.h"
#include "probes/run/run_notes.h"
#include "probes/run/run_signals.h"

namespace memflame {

std::string refused_by_go_heap(const ProbeOptions& options) {
  if (options.kernel_stacks) return "--kernel-stacks";
  if (options.stacks != Stacks::dwarf) return "--stacks";
  if (options.check_every != 0) return "--check-stacks";
  if (options.min_size != 0) return "--min-size";
  if (options.max_size != UINT64_MAX) return "--max-size";
  if (options.reachable) return "--reachable";
  if (options.waste || options.first_touch) return "--value " + options.value;
  if (options.events) return "--detail events";
  if (options.calls) return "--trace";
  if (!options.own) return "";
  if (options.own->sampled_bytes() != 0) return "--sample";
  if (options.own->most_overhead() > 0) return "--max-overhead";
  return options.own->only_in_kernel();
}

bool keeps_go_heap(pid_t pid) {
  try {
    const GoProcess process(pid);
    return process.rate() != 0;
  } catch (const Error&) {
    return false;
  }
}

namespace {

// `pids`: when all of them have ended, counting ends; empty: it goes on.
template <class Session>
Run run_session(Session& session, const std::vector<pid_t>& pids, const ProbeRun& probe,
                uint64_t began, const RunSignals& signals, EarlyStop& early, Observer& observer) {
  const ProbeOptions& options = probe.options;
  Run run;
  run.info.memory = plan_memory(options.memory, free_memory());
  Ends ends;
  for (const pid_t pid : pids) ends.add(pid);
  early.counts();
  keep_privileges_for(Step::counting);
  observer.begin(session);
  const auto figures = [&session] {
    return StatusFigures{
        .events = session.sampled_blocks(), .amount = session.live_bytes(), .lost = 0};
  };
  const LoopParts parts{.run = session,
                        .arm = [&session] { return session.arm(); },
                        .poll = [&session] { session.poll(); },
                        .figures = figures,
                        .unit = probe.probe->types(options, false)[0].unit};
  const uint64_t armed =
      begin_counting(parts, options, nullptr, began, ends, signals, observer, run.info);
  count_until_end(parts, options, ends, signals, armed, observer, run.info);
  session.disarm();
  run.info.seconds = seconds_since(armed);
  observer.end(session, run.info.seconds);
  run.recording = session.finish();
  keep_privileges_for(Step::writing);
  session.describe(run.info);
  run.recording.meta.seconds = run.info.seconds;
  judge_emptiness("no sampled block of Go's runtime", options, run);
  return run;
}

}  // namespace

Run run_go_heap(const ProbeRun& probe, Observer& observer) {
  const uint64_t began = monotonic_ns();
  require_own_proc();
  const RunSignals signals;
  EarlyStop early(signals, probe.options);
  GoHeapSession session(*probe.probe, probe.options);
  return run_session(session, {session.pid()}, probe, began, signals, early, observer);
}

Run run_go_heaps(const ProbeRun& probe, Observer& observer) {
  const uint64_t began = monotonic_ns();
  require_own_proc();
  const RunSignals signals;
  EarlyStop early(signals, probe.options);
  GoHeaps session(*probe.probe, probe.options, GoHeaps::Others::missed);
  return run_session(session, probe.options.target.pids, probe, began, signals, early, observer);
}

}  // namespace memflame
