// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/inside_run.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "core/error.h"
#include "core/units.h"
#include "probes/inside/attach/target.h"
#include "probes/inside/exchange/agent_file.h"
#include "probes/inside/exchange/agentless.h"
#include "probes/inside/exchange/exchange.h"
#include "probes/inside/inside_attach.h"
#include "probes/inside/inside_session.h"
#include "probes/languages/python/versions.h"
#include "probes/options/advice.h"
#include "probes/processes/command.h"
#include "probes/processes/exit_status.h"
#include "probes/processes/heirs.h"
#include "probes/processes/processes.h"
#include "probes/processes/program_files.h"
#include "probes/run/early_stop.h"
#include "probes/run/oom_share.h"
#include "probes/run/privileges.h"
#include "probes/run/run_loop.h"
#include "probes/run/run_notes.h"
#include "probes/run/run_signals.h"
#include "probes/system/pid_namespace.h"

namespace memflame {
namespace {

ProbeRun run_within(const MemoryPlan& plan, const ProbeRun& run) {
  ProbeOptions options = within(plan, run.options);
  options.memory = plan.limit;
  return {run.probe, std::move(options)};
}

// Why nothing is known of the command.
void say_silence(const Command& command, const inside::InsideSession& session,
                 Recording& recording) {
  std::vector<std::string>& notes = recording.meta.notes;
  if (session.has_found(command.pid())) return;  // named there
  const bool has_spoken = session.met(command.pid());
  if (const std::string reason =
          has_spoken ? "" : inside::reason_in(program_file(command.program()));
      !reason.empty()) {
    recording.losses.add(Loss::process_uncovered, 1);
    const int64_t bytes = session.silent_bytes();
    notes.push_back(command.program() + " ran unseen, as memflame's agent cannot be in it: " +
                    reason + (bytes != 0 ? ", resident " + iec_bytes(bytes) : "") + "; " +
                    as_root("--collect kernel needs no agent"));
  } else if (session.samples() || session.counters().events != 0) {
    return;
  } else if (const int signal = command.ended_by_signal(); signal != 0) {
    notes.push_back(command.program() + " ended by " + signal_text(signal) +
                    " before it called an allocator");
  } else {
    notes.push_back(command.program() + " called no allocator");
  }
}

// The OS was asked about no process, as nobody watched any: there is no figure, not one of 0.
void say_unread(Recording& recording) {
  for (Reconciliation& row : recording.meta.reconciliation) {
    row.os.reset();
    recording.meta.notes.push_back(row.name + " is not known: no process was watched");
  }
}

std::vector<pid_t> present_processes(const Target& target) {
  std::vector<pid_t> pids = Processes(target, false, Processes::Log::none).present();
  if (pids.empty())
    throw Error(
        "no process that was asked for runs: with --inside it must run when counting begins",
        ExitCode::failure);
  return pids;
}

void describe(const inside::InsideSession& session, const ProbeRun& probe, Run& run) {
  session.describe(run.info);
  if (run.info.pids.empty()) {
    run.info.os_growth.reset();
    say_unread(run.recording);
  }
  run.recording.meta.seconds = run.info.seconds;
  if (const std::string note = memory_note(run.info.memory, run.recording.losses); !note.empty())
    run.recording.meta.notes.push_back(note);
  if (std::string note = pause_note(run.info); !note.empty())
    run.recording.meta.notes.push_back(std::move(note));
  judge_emptiness(
      session.samples() ? "no sampled call of an allocator" : nothing_in_words({&probe, 1}),
      probe.options, run);
}

}  // namespace

InsideSetup::InsideSetup(const ProbeRun& run)
    : InsideSetup(run, run.options.target.command.empty()
                           ? inside::attached_name()
                           : inside::agent_file(inside::agent_image())) {}

InsideSetup::InsideSetup(const ProbeRun& run, std::string agent)
    : memory_(plan_memory(run.options.memory, free_memory())),
      run_(run_within(memory_, run)),
      agent_(std::move(agent)),
      exchange_(std::make_unique<inside::Exchange>(
          run_.options.max_depth, run_.options.max_table_mib,
          agent_.starts_with('/') ? agent_.substr(0, agent_.rfind('/')) : "")) {}

InsideSetup::~InsideSetup() = default;

std::vector<std::string> InsideSetup::variables() const {
  std::vector<std::string> variables{exchange_->variable()};
  const std::vector<std::string>& command = run_.options.target.command;
  const bool is_barred = !command.empty() && inside::is_barred(inside::program_at(command[0]));
  if (!agent_.empty() && !is_barred) variables.push_back(inside::preload_variable(agent_));
  return variables;
}

std::string refused_inside(const ProbeOptions& options) {
  if (options.kernel_stacks) return "--kernel-stacks";
  if (options.stacks == Stacks::fp) return "--stacks fp";
  if (options.stacks == Stacks::copy) return "--stacks copy";
  if (options.check_every != 0) return "--check-stacks";
  if (options.calls) return "--trace";
  if (options.reachable) return "--reachable";
  if (options.first_touch) return "--value " + options.value;
  return options.own ? options.own->only_in_kernel() : "";
}

bool may_take_over(const ProbeOptions& options) {
  return options.target.follow_children && !options.waste && !options.start_paused &&
         !options.events && options.own && options.own->most_overhead() == 0;
}

std::string no_agent_in(const std::string& command) {
  return inside::reason_in(inside::program_at(command));
}

Run run_inside(InsideSetup& setup, Command* command, Observer& observer) {
  const ProbeRun& probe = setup.run_;
  const ProbeOptions& options = probe.options;
  const uint64_t began = monotonic_ns();
  require_own_proc();

  const RunSignals signals;
  EarlyStop early(signals, options);
  Run run;
  run.info.memory = setup.memory_;
  step_behind_target(run.info.memory, command != nullptr ? command->pid() : 0);
  const std::vector<pid_t> first =
      command != nullptr ? std::vector{command->pid()} : present_processes(options.target);
  inside::InsideSession session(*probe.probe, options, *setup.exchange_, first, setup.agent_);
  Ends ends;
  std::optional<inside::Attachment> attachment;
  if (command == nullptr)
    attachment.emplace(session, *setup.exchange_, first,
                       options.target.is_selection() ? inside::Attachment::Wants::some
                                                     : inside::Attachment::Wants::all);
  for (const pid_t pid : attachment ? attachment->pids() : first) ends.add(pid);
  if (attachment)
    session.set_enter([&](pid_t pid) {
      const bool is_in = attachment->enter_later(pid);
      if (is_in) ends.add(pid);
      return is_in;
    });
  early.counts();
  keep_privileges_for(Step::counting);
  observer.begin(session);

  const auto figures = [&session] {
    const bpf::counters& counters = session.counters();
    return StatusFigures{counters.events, counters.amount, session.losses().lost_events(),
                         session.table_bytes()};
  };
  // An agent speaks at the first call of an allocator, so some may be silent yet; others have none.
  std::function<std::vector<pid_t>()> descendants;
  if (command != nullptr && options.target.follow_children) {
    adopt_orphans();
    descendants = [&session, variable = setup.exchange_->variable()] {
      std::vector<pid_t> pids = processes_with(variable);
      const std::vector<pid_t> heard = session.living();
      const std::vector<pid_t> all = session.of_run();
      pids.insert(pids.end(), heard.begin(), heard.end());
      pids.insert(pids.end(), all.begin(), all.end());
      std::ranges::sort(pids);
      pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
      return pids;
    };
  }
  const LoopParts parts{.run = session,
                        .arm = [&session] { return session.arm(); },
                        .poll = [&session] { session.poll(); },
                        .wants_end = [&session] { return session.wants_end(); },
                        .descendants = descendants,
                        .figures = figures,
                        .unit = probe.probe->types(options, false)[0].unit};
  const uint64_t armed =
      begin_counting(parts, options, command, began, ends, signals, observer, run.info);
  count_until_end(parts, options, ends, signals, armed, observer, run.info);
  session.disarm();
  run.info.seconds = seconds_since(armed);
  if (attachment) attachment->leave();
  observer.end(session, run.info.seconds);
  if (options.python_heap && !session.has_python())
    throw Error("--python-heap: no process that was watched had Python " +
                    std::string(python_versions_read) +
                    " with symbols of its allocator's functions; leave it out to count what "
                    "malloc gives",
                ExitCode::failure);
  run.recording = session.finish();
  if (command != nullptr) say_silence(*command, session, run.recording);
  if (attachment)
    for (std::string& note : attachment->notes())
      run.recording.meta.notes.push_back(std::move(note));
  keep_privileges_for(Step::writing);
  describe(session, probe, run);
  return run;
}

}  // namespace memflame
