// SPDX-License-Identifier: BSD-2-Clause
#include "cli/runs/run_request.h"

#include <unistd.h>

#include <array>
#include <iostream>
#include <optional>

#include "cli/files/output_file.h"
#include "cli/files/run_as.h"
#include "cli/runs/controlled.h"
#include "cli/runs/drawing.h"
#include "cli/runs/interim.h"
#include "cli/runs/summary.h"
#include "cli/runs/typed_target.h"
#include "collapse/fold/fold.h"
#include "collapse/symbolize/symbolize.h"
#include "core/error.h"
#include "probes/heaps/go/go_run.h"
#include "probes/inside/inside_run.h"
#include "probes/options/advice.h"
#include "probes/processes/command.h"
#include "probes/run/memory_plan.h"
#include "probes/run/requirements.h"
#include "probes/run/run.h"
#include "render/text/clean_text.h"

namespace memflame {
namespace {

// Finds now what would otherwise fail after an hour of measuring.
void check_outputs(const Request& request) {
  if (request.format != nullptr && request.format->is(as_image))
    refuse_terminal(request.output, request.format->suffix);
  require_writable(request.output);
  require_writable(request.summary);
  check_render_options(request.render);
}

std::string as_typed(const Request& request) {
  const std::string& value = request.probe.value;
  std::string beside;
  for (const ProbeRun& run : request.beside) beside += "," + std::string(run.probe->name);
  if (!beside.empty()) beside = " --probes " + request.first + beside;
  const Collect collect = request.probe.collect;
  const std::string how = collect == Collect::inside ? " --inside"
                          : collect == Collect::go   ? " --collect go"
                                                     : "";
  return "memflame " + request.command + how + beside + (value.empty() ? "" : " --value " + value) +
         as_typed(request.probe.target);
}

bool has_addresses(const Request& request) {
  return request.format != nullptr && (request.format->holds & code) != 0;
}

// Writes the picture and the summaries of a run; returns what was lost in it.
Losses write_results(const Request& request, Run& run, const Watcher& watcher) {
  const std::optional<JudgedRun> judged = watcher.judged();
  Profile profile = profile_of(run.recording, request, true, judged ? &*judged : nullptr);
  if (request.format != nullptr) {
    const auto draw = [&](const Profile& drawn) {
      write_output(
          request.output,
          [&](std::ostream& out) { request.format->write(out, drawn, request.render); },
          request.readers);
      keep_colours(drawn, request.render);
    };
    // The summary describes what was measured, not what options made of it.
    if (request.transform == Transform{} && !request.tidying.groups() && !has_addresses(request))
      draw(profile);
    else
      draw(drawn_profile(run.recording, profile, request));
  }
  profile.losses.add(Loss::replaced_bytes, replaced_bytes(profile));
  if (!request.summary.empty())
    write_output(
        request.summary, [&](std::ostream& out) { write_summary_json(out, profile, run.info); },
        request.readers);
  write_summary_text(std::cerr, profile, run.info, request.output, request.verbose);
  return profile.losses;
}

// `inside`: null if the kernel records.
int measure(const Probe& probe, const Request& request, Command* command, Watcher& watcher,
            InsideSetup* inside = nullptr) {
  std::vector<ProbeRun> probes{{&probe, request.probe}};
  probes.insert(probes.end(), request.beside.begin(), request.beside.end());
  const bool is_go = request.probe.collect == Collect::go;
  Run run = inside != nullptr ? run_inside(*inside, command, watcher)
            : is_go           ? (request.go_heaps ? run_go_heaps(probes.front(), watcher)
                                                  : run_go_heap(probes.front(), watcher))
                              : run_probes(probes, command, watcher);
  watcher.finished(run.info);
  Losses losses;
  if (watcher.wants_results(run.recording)) {
    losses = write_results(request, run, watcher);
    watcher.wrote_results(run.recording);
  } else if (request.strict)
    losses = profile_of(run.recording, request, false).losses;
  if (request.strict && losses.any()) {
    std::cerr << "memflame: error: --strict: something was lost, or stacks were cut: see above\n";
    return static_cast<int>(ExitCode::lossy);
  }
  const bool has_status = command != nullptr && (!run.info.interrupted || command->has_ended());
  const int status = has_status ? command->wait() : 0;
  if (status != 0) return status;
  const bool found = watcher.has_failed() || !run.recording.candidates.empty();
  return static_cast<int>(found ? ExitCode::found : ExitCode::ok);
}

// Why the kernel cannot record for memflame; "" if it can.
std::string no_rights() {
  try {
    require_kernel_and_privilege();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

// Why an agent in the command or process is to record, though nobody asked for it; "" if the kernel
// is.
std::string why_inside(const ProbeOptions& options) {
  const Target& target = options.target;
  if (const std::string why = no_rights(); !why.empty())
    return "because the kernel cannot do it: " + why;
  // With the rights for both, a running process is left alone.
  if (target.command.empty() || !no_agent_in(target.command[0]).empty()) return "";
  return std::string("at a fraction of the kernel's cost; ") +
         (options.takes_over ? "the kernel's probes count children without an agent"
                             : "--collect kernel sees children without an agent, too");
}

// Whether an agent records. Throws Error(usage) if it cannot do what was asked.
bool is_inside(const Probe& probe, const Request& request) {
  if (!probe.inside || request.probe.collect == Collect::kernel ||
      request.probe.collect == Collect::go)
    return false;
  const std::string refused =
      request.beside.empty() ? refused_inside(request.probe) : std::string("--probes");
  const Target& target = request.probe.target;
  if (request.probe.collect == Collect::inside) {
    if (!refused.empty())
      throw Error(refused + " needs the kernel's collector: " + as_root("leave out --inside"),
                  ExitCode::usage);
    if (target.whole_system())
      throw Error("--inside needs '-p PID', '--comm NAME', a control group or '-- COMMAND'",
                  ExitCode::usage);
    return true;
  }
  if (target.whole_system() || !refused.empty()) return false;
  const std::string why = why_inside(request.probe);
  if (!why.empty())
    std::cerr << "memflame: recording from inside the program (--inside), " << why << "\n";
  return !why.empty();
}

// With a command, memflame's exit status is the command's, so its own failures have other codes.
int measure_command(const Probe& probe, Request& request, Watcher& watcher, bool inside) {
  Target& target = request.probe.target;
  try {
    const std::string user = target.runs_as = user_of_command(target);
    std::optional<InsideSetup> setup;
    if (inside) setup.emplace(ProbeRun{&probe, request.probe});
    Command command(target.command, user, setup ? setup->variables() : std::vector<std::string>{},
                    request.streams);
    if (user != target.user)
      std::cerr << "memflame: " << target.command[0] << " runs as " << user
                << ", who called sudo; --user root runs it as root\n";
    request.readers = readers_of(target, command.program());
    return measure(probe, request, &command, watcher, setup ? &*setup : nullptr);
  } catch (const Error& error) {
    const bool own =
        error.exit_code != ExitCode::not_found && error.exit_code != ExitCode::cannot_execute;
    throw Error(error.what(), own ? ExitCode::command_failed : error.exit_code);
  }
}

}  // namespace

bool settle_go_heap(const Probe& probe, Request& request) {
  const Target& target = request.probe.target;
  const bool is_asked = request.probe.collect == Collect::go;
  if (!probe.inside || (!is_asked && request.probe.collect != Collect::by_rights)) return false;
  const bool is_one = target.pids.size() == 1;
  const std::string refused =
      request.beside.empty() ? refused_by_go_heap(request.probe) : std::string("--probes");
  if (is_asked) {
    if (!is_one && !request.go_heaps)
      throw Error("--collect go reads one process: -p PID", ExitCode::usage);
    if (!refused.empty())
      throw Error(refused + " is not for Go's own heap profile (--collect go): leave it out",
                  ExitCode::usage);
    return true;
  }
  if (!is_one || !refused.empty() || !keeps_go_heap(target.pids[0])) return false;
  request.probe.collect = Collect::go;
  std::cerr << "memflame: process " << target.pids[0]
            << " is a Go program: reading the heap profile of its runtime (--collect go); "
               "--collect kernel records calls of malloc\n";
  return true;
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

void Watcher::mark(const std::string&, double) {
  throw Error("this run is not a recording, so it has no marks; memflame record makes one");
}

std::future<std::string> Watcher::picture(LiveRun&, double) {
  throw Error("this run writes reports, not pictures; SIGUSR1 asks for a report");
}

Meta meta_of(const Request& request) {
  Meta meta;
  if (request.transform.anonymise) return meta;
  meta.command = as_typed(request);
  meta.host = host_name();
  return meta;
}

Profile profile_of(Recording& recording, const Request& request, bool debug_servers,
                   const JudgedRun* judged) {
  if (const Meta meta = meta_of(request); !meta.command.empty()) {
    recording.meta.command = meta.command;
    recording.meta.host = meta.host;
  }
  symbolize(recording, {.debug_servers = debug_servers,
                        .code = has_addresses(request),
                        .memory_bytes = free_memory()});
  const FoldOptions options{.pid = request.pid_in_root, .lines = true, .only_values = true};
  if (judged == nullptr) return fold(recording, options);
  std::vector<StackId> stacks;
  Profile profile = fold(recording, options, &stacks);
  profile.marks = marks_of(*judged, recording, profile, stacks);
  return profile;
}

Profile drawn_profile(const Recording& recording, const Profile& profile, const Request& request) {
  const auto drawn = [&](Profile whole) {
    return prepared(tidied(std::move(whole), request.tidying), request.transform, request.render);
  };
  if (!has_addresses(request)) return drawn(profile);
  return drawn(fold(recording, {.pid = request.pid_in_root, .lines = true, .code = true}));
}

int run_request(const Probe& probe, Request& request, Watcher* watcher) {
  if (!request.go_heaps) settle_go_heap(probe, request);
  // Who watches a run while it goes on sees one collector.
  request.probe.takes_over = watcher == nullptr && request.probe.collect == Collect::by_rights &&
                             may_take_over(request.probe) && no_rights().empty();
  const bool inside = is_inside(probe, request);
  if (inside) request.probe.collect = Collect::inside;
  check_outputs(request);
  Interim interim(request);
  if (watcher == nullptr) watcher = &interim;
  Controlled controlled(*watcher, request);
  if (!request.probe.target.command.empty())
    return measure_command(probe, request, controlled, inside);
  request.readers = readers_of(request.probe.target, "");
  std::optional<InsideSetup> setup;
  if (inside) setup.emplace(ProbeRun{&probe, request.probe});
  return measure(probe, request, nullptr, controlled, setup ? &*setup : nullptr);
}

}  // namespace memflame
