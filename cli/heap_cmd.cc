// SPDX-License-Identifier: BSD-2-Clause
// memflame heap: the heap profile that a language's runtime keeps for itself.
#include <atomic>
#include <chrono>
#include <csignal>
#include <iostream>
#include <optional>
#include <thread>

#include "cli/commands.h"
#include "cli/completed.h"
#include "cli/drawing_options.h"
#include "cli/files/run_as.h"
#include "cli/options.h"
#include "cli/runs/drawing.h"
#include "cli/runs/durations.h"
#include "cli/target_options.h"
#include "cli/tidy_options.h"
#include "cli/written_profile.h"
#include "collapse/fold/diff.h"
#include "collapse/fold/fold.h"
#include "collapse/symbolize/symbolize.h"
#include "core/error.h"
#include "core/stop_request.h"
#include "core/units.h"
#include "probes/heaps/go/go_kill.h"
#include "probes/heaps/go/go_process.h"
#include "probes/processes/spaces.h"
#include "probes/run/memory_plan.h"
#include "probes/run/privileges.h"

namespace po = boost::program_options;

namespace memflame {
namespace {

std::atomic<bool> heap_is_interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler sets it

// The wait ends early, and what was seen until then is written. The second signal ends memflame.
void end_wait_on_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) {
    heap_is_interrupted = true;
    note_stop();
  };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
}

struct HeapRequest {
  pid_t pid = 0;
  double seconds = 0;  // 0: what there is now
  bool starts_profile = false;
  bool at_kill = false;
  std::string value;
};

HeapRequest heap_request(const po::variables_map& values) {
  HeapRequest request;
  std::string pid, duration;
  take(values, "pid", pid);
  take(values, "duration", duration);
  take(values, "value", request.value);
  request.starts_profile = values["start-go-profile"].as<bool>();
  request.at_kill = values["at-kill"].as<bool>();
  if (pid.empty()) throw Error("heap needs a process: memflame heap -p PID", ExitCode::usage);
  const std::vector<pid_t> pids = parse_pids(pid);
  if (pids.size() > 1)
    throw Error(
        "heap reads one process; write several with --format json, and give them to "
        "'memflame render' together",
        ExitCode::usage);
  request.pid = pids[0];
  if (!duration.empty()) {
    const std::optional<double> seconds = parse_duration(duration);
    if (!seconds || *seconds <= 0)
      throw Error("-d takes a length of time, like 60 or 5m", ExitCode::usage);
    request.seconds = *seconds;
  }
  if (request.starts_profile && request.seconds == 0)
    throw Error("--start-go-profile needs -d: a profile is empty when it begins", ExitCode::usage);
  if (!request.at_kill && request.value.starts_with("since_gc"))
    throw Error("--value " + request.value + " is for --at-kill", ExitCode::usage);
  if (request.at_kill && (request.seconds != 0 || request.starts_profile))
    throw Error(
        "--at-kill waits until the process is killed, so it goes with neither -d nor "
        "--start-go-profile",
        ExitCode::usage);
  return request;
}

void require_profile(const GoProcess& process) {
  if (process.rate() != 0) return;
  const std::string pid = std::to_string(process.pid());
  throw Error("process " + pid + " keeps no heap profile: its runtime.MemProfileRate is 0" +
              (process.has_profile()
                   ? ", which the program chose"
                   : std::string(", because it does not import net/http/pprof or runtime/pprof")) +
              ". Import one of them, or switch the profile on for a while: memflame heap -p " +
              pid + " -d 60 --start-go-profile");
}

Profile named(Recording recording, const HeapRequest& request, double seconds) {
  recording.meta.command = "memflame heap -p " + std::to_string(request.pid);
  recording.meta.seconds = seconds;
  symbolize(recording, {.memory_bytes = free_memory()});
  return fold(recording, {.lines = true, .only_values = true});
}

void wait_for(const GoProcess& process, double seconds) {
  using namespace std::chrono;
  const auto end = steady_clock::now() + duration<double>(seconds);
  while (steady_clock::now() < end && !heap_is_interrupted && !process.has_ended())
    std::this_thread::sleep_for(milliseconds(20));
}

// The heap as it was when the process was killed; if the user ends the wait, as it is now.
Profile at_kill(const GoProcess& process, const HeapRequest& request) {
  constexpr SpaceId space{1};
  Spaces spaces;  // the mappings are gone with the process
  spaces.adopt(space, process.pid(), 1);
  end_wait_on_signals();
  GoKillWatch watch(process);
  const auto start = std::chrono::steady_clock::now();
  std::cerr << "memflame: waiting until " << process.name()
            << " is killed; Ctrl-C ends the wait, and its heap is read then\n";
  while (!heap_is_interrupted && !process.has_ended()) watch.poll(50);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  Recording recording;
  if (process.has_ended()) {
    const std::optional<GoKilled> killed = watch.result();
    if (!killed)
      throw Error(process.name() +
                  " ended by itself and was not killed, so its heap went with it: 'memflame record "
                  "-p PID' keeps its figures over time");
    recording = process.recording_of(killed->heap, space, true);
    recording.meta.notes.push_back(killed->in_words(process.name()));
    recording.losses = killed->losses();
    std::cerr << "memflame: " << killed->in_words(process.name()) << "\n";
  } else {
    recording = process.recording_of(process.heap(), space, true);
    std::cerr << "memflame: " << process.name()
              << " was not killed: this is its heap profile as it is now\n";
  }
  spaces.finish(recording);
  keep_privileges_for(Step::writing);
  return named(std::move(recording), request, seconds.count());
}

Profile measured(const HeapRequest& request) {
  const GoProcess process(request.pid);
  if (!request.starts_profile) require_profile(process);
  if (request.at_kill) return at_kill(process, request);
  if (request.seconds == 0) {
    Recording now = process.read();
    keep_privileges_for(Step::writing);
    return named(std::move(now), request, 0);
  }
  end_wait_on_signals();  // from here on, so that a profile is never left switched on
  std::optional<GoProfileSwitch> profile;
  if (request.starts_profile) profile.emplace(process);
  Recording before = process.read();
  const auto start = std::chrono::steady_clock::now();
  wait_for(process, request.seconds);
  if (process.has_ended())
    throw Error("process " + std::to_string(request.pid) +
                " ended, and its heap with it: use a shorter -d");
  Recording after = process.read();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  profile.reset();
  keep_privileges_for(Step::writing);
  // A profile that has just begun has nothing to compare with. One that was switched on before, and
  // off again, still has what it sampled then.
  if (before.sums.empty()) return named(std::move(after), request, seconds.count());
  return diff(named(std::move(before), request, 0),
              named(std::move(after), request, seconds.count()), {});
}

po::options_description heap_options() {
  po::options_description options("Heap");
  auto add = options.add_options();
  add("pid,p", completed("PID", {Offer::pids}), "the process to read");
  add("duration,d", po::value<std::string>()->value_name("TIME"),
      "what changed within TIME (60, 5m), as a difference (default: what there is now)");
  add("at-kill", po::bool_switch(),
      "wait until the kernel's out-of-memory killer, or anybody else, kills the process, and draw "
      "what was in use then; needs the rights for BPF");
  add("value",
      one_of("NAME", {"inuse_space", "inuse_objects", "alloc_space", "alloc_objects",
                      "since_gc_space", "since_gc_objects"}),
      "figures to draw: inuse_space (default), inuse_objects, alloc_space or alloc_objects, both "
      "since the program began; with --at-kill also since_gc_space or since_gc_objects, what was "
      "allocated since the last garbage collection, in use or not");
  add("start-go-profile", po::bool_switch(),
      "if the program keeps no profile: write Go's usual rate into its memory, and 0 again after "
      "TIME");
  return options;
}

// Shows the column that was asked for.
void show(Profile& profile, const std::string& value) {
  if (value.empty()) return;
  for (size_t i = 0; i < profile.types.size(); ++i)
    if (profile.types[i].name == value) profile.shown = i;
}

}  // namespace

CommandPage heap_page() {
  CommandPage page{.name = "heap", .help = "read the heap profile that Go's runtime keeps"};
  page.usages = {"[OPTIONS] -p PID"};
  page.description =
      "Draws the heap of a running Go program, in use and allocated since it began, from the\n"
      "profile that its runtime keeps. Nothing is written, stopped or probed; the figures are\n"
      "those of the program's own /debug/pprof/heap. For its growth over time there is\n"
      "'memflame record -p PID', and for what leaks 'memflame leaks -p PID'.";
  page.options =
      OptionGroups{heap_options(), drawing_options(), tidy_option_list(), general_options()};
  page.examples = {{"memflame heap -p 1234 -o heap.svg", "draw what is in use"},
                   {"memflame heap -p 1234 -d 5m -o growth.svg", "draw what changed in 5 minutes"},
                   {"memflame heap -p 1234 --at-kill -o oom.svg",
                    "draw what was in use when it ran out of memory"},
                   {"memflame heap -p 1234 -o heap.pb.gz", "write it for 'go tool pprof'"}};
  page.operands = Operands::command;
  return page;
}

int run_heap(const Arguments& arguments) {
  const CommandPage page = heap_page();
  const po::variables_map values = parse(page.name, arguments, all_options(page));
  if (values.count("help") != 0) {
    print_help(std::cout, page);
    return 0;
  }
  const HeapRequest request = heap_request(values);
  Written written = written_as(values, "svg");
  Target target;
  target.pids = {request.pid};
  written.readers = readers_of(target, "");
  const TidyOptions tidying = tidy_options(values);
  Profile profile = measured(request);
  show(profile, request.value);
  profile = tidied(std::move(profile), tidying);
  write_profile(std::move(profile), written);
  return 0;
}

}  // namespace memflame
