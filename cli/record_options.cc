// SPDX-License-Identifier: BSD-2-Clause
#include "cli/record_options.h"

#include <algorithm>
#include <string>

#include "cli/completed.h"
#include "cli/option_rows.h"
#include "cli/options.h"
#include "cli/probe_request.h"
#include "cli/runs/durations.h"
#include "core/error.h"

namespace po = boost::program_options;

namespace memflame {
namespace {

constexpr double shortest_interval = 0.1;
constexpr double longest_interval = 1e6;
constexpr uint64_t least_file = uint64_t{1} << 20U;

std::vector<std::string> probe_names() {
  std::vector<std::string> names;
  for (const Probe* probe : probes()) names.emplace_back(probe->name);
  return names;
}

// In the order of probes(), so that the first one follows blocks if any does.
std::vector<const Probe*> probes_named(const std::string& list) {
  std::vector<std::string> names;
  for (size_t from = 0; from <= list.size();) {
    const size_t end = std::min(list.find(',', from), list.size());
    names.push_back(list.substr(from, end - from));
    from = end + 1;
  }
  std::vector<const Probe*> chosen;
  for (const Probe* probe : probes()) {
    const auto times = std::count(names.begin(), names.end(), probe->name);
    if (times > 1)
      throw Error("--probes names " + std::string(probe->name) + " twice", ExitCode::usage);
    if (times == 1) chosen.push_back(probe);
  }
  for (const std::string& name : names)
    if (std::none_of(probes().begin(), probes().end(),
                     [&](const Probe* probe) { return probe->name == name; }))
      throw Error(
          "--probes takes alloc, brk, mmap, fault and kernel, with commas between them, not '" +
              name + "'",
          ExitCode::usage);
  for (const Probe* probe : chosen)
    if (chosen.size() > 1 && !probe->user_stacks)
      throw Error(
          "--probes " + std::string(probe->name) +
              " is recorded alone: its memory belongs to no process, and its stacks to none "
              "of the other probes'",
          ExitCode::usage);
  return chosen;
}

// Whether the second word was chosen, not the first, which is the default.
bool is_second(const po::variables_map& values, const char* name, const std::string& first,
               const std::string& second) {
  std::string word = first;
  take(values, name, word);
  if (word != first && word != second)
    throw Error(
        "--" + std::string(name) + " takes " + first + " or " + second + ", not '" + word + "'",
        ExitCode::usage);
  return word == second;
}

// Longer ones would hold back too many events, and miss the shorter half of most runs.
constexpr uint64_t longest_cull_ns = 60'000'000'000;

uint64_t cull_ns(const po::variables_map& values) {
  if (values.count("cull") == 0) return 0;
  const auto& text = values["cull"].as<std::string>();
  const std::optional<uint64_t> ns = parse_nanoseconds_of_run(text);
  if (!ns || *ns == 0 || *ns > longest_cull_ns)
    throw Error("--cull: expected a length of time like 100ms, at most 1m, not '" + text + "'",
                ExitCode::usage);
  return *ns;
}

// The probes that the arguments name before "--".
std::vector<const Probe*> probes_of(const Arguments& arguments) {
  std::string names = "alloc";
  for (auto word = arguments.begin(); word != arguments.end() && *word != "--"; ++word) {
    if (word->starts_with("--probes=")) names = word->substr(word->find('=') + 1);
    if (*word == "--probes" && word + 1 != arguments.end()) names = *(word + 1);
  }
  return probes_named(names);
}

}  // namespace

po::options_description record_options() {
  po::options_description options("Record");
  options.add_options()(
      "probes", one_of("NAME[,NAME...]", probe_names()),
      "what to record: alloc (default), brk, mmap and fault, several at once with "
      "commas between them; or kernel");
  options.add_options()("interval", po::value<double>()->value_name("SECONDS"),
                        "look at the figures so often (default: 1, at least 0.1); less often when "
                        "looking takes more than 5 % of a processor");
  options.add_options()("detail", one_of("WHAT", {"series", "events"}),
                        "what FILE holds: figures over time (default), or each block beside them: "
                        "when it came, moved and went, its thread, its address");
  options.add_options()("time", one_of("UNIT", {"us", "ns"}),
                        "with --detail events: what times are rounded to (default: us)");
  options.add_options()("free-stacks",
                        "with --detail events: keep the stack of each free, too, which costs the "
                        "target about as much as that of an allocation");
  options.add_options()("cull", po::value<std::string>()->value_name("TIME"),
                        "with --detail events: leave out blocks that live shorter: 100ms. Their "
                        "sums by stack stay");
  options.add_options()("no-addresses", "with --detail events: leave the blocks' addresses out");
  options.add_options()("start-paused",
                        "count nothing until 'memflame control PID resume', as if memflame had "
                        "come into the program only then; a COMMAND runs meanwhile");
  options.add_options()("max-file", po::value<std::string>()->value_name("BYTES"),
                        "keep FILE below this size: 64M. Then old looks are thinned out; totals "
                        "stay exact");
  return options;
}

void read_record_options(const po::variables_map& values, RecordOptions& options,
                         Request& request) {
  take(values, "interval", options.interval);
  if (!(options.interval >= shortest_interval) || options.interval > longest_interval)
    throw Error("--interval: expected a number of seconds, at least 0.1", ExitCode::usage);
  if (values.count("max-file") != 0) {
    options.limits.max_bytes = parse_bytes("--max-file", values["max-file"].as<std::string>());
    if (options.limits.max_bytes < least_file)
      throw Error("--max-file: at least 1M", ExitCode::usage);
  }
  request.probe.events = is_second(values, "detail", "series", "events");
  options.events = {.nanoseconds = is_second(values, "time", "us", "ns"),
                    .addresses = values.count("no-addresses") == 0,
                    .cull_ns = cull_ns(values)};
  request.probe.free_stacks = values.count("free-stacks") != 0;
  if (!request.probe.events)
    for (const char* option : {"time", "no-addresses", "free-stacks", "cull"})
      if (values.count(option) != 0)
        throw Error("--" + std::string(option) + " needs --detail events", ExitCode::usage);
  // At a million events a second a reader that waits for a processor for a second loses none.
  if (request.probe.events && values.count("ring-bytes") == 0)
    request.probe.ring_bytes = 64U << 20U;
  request.probe.start_paused = values.count("start-paused") != 0;
  if (request.probe.start_paused && values.count("check") != 0 && values["check"].as<bool>())
    throw Error(
        "--check must see every block from the program's first instruction: leave out "
        "--start-paused",
        ExitCode::usage);
  request.probe.ages = true;
  request.format = nullptr;
}

const Probe& set_probes(Extension& extension, const Arguments& arguments) {
  const std::vector<const Probe*> chosen = probes_of(arguments);
  extension.beside.assign(chosen.begin() + 1, chosen.end());
  return *chosen.front();
}

void require_events(const Probe& probe, const Request& request) {
  if (request.probe.events && !probe.events)
    throw Error("--detail events needs --probes alloc, which follows blocks", ExitCode::usage);
}

}  // namespace memflame
