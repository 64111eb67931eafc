// SPDX-License-Identifier: BSD-2-Clause
// memflame record: figures over time, in a file.
#include <algorithm>
#include <cmath>

#include "cli/completed.h"
#include "cli/option_rows.h"
#include "cli/options.h"
#include "cli/recorder.h"
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

po::options_description record_options() {
  po::options_description options("Record");
  options.add_options()(
      "probes", one_of("NAME[,NAME...]", probe_names()),
      "what to record: alloc (default), brk, mmap and fault, several at once with "
      "commas between them; or kernel");
  options.add_options()("interval", po::value<double>()->value_name("SECONDS"),
                        "look at the figures so often (default: 1, at least 0.1); less often when "
                        "looking takes more than 5 % of a processor");
  options.add_options()("max-file", po::value<std::string>()->value_name("BYTES"),
                        "keep FILE below this size: 64M. Then old looks are thinned out; totals "
                        "stay exact");
  return options;
}

void read_options(const po::variables_map& values, RecordOptions& options, Request& request) {
  take(values, "interval", options.interval);
  if (!(options.interval >= shortest_interval) || options.interval > longest_interval)
    throw Error("--interval: expected a number of seconds, at least 0.1", ExitCode::usage);
  if (values.count("max-file") != 0) {
    options.limits.max_bytes = parse_bytes("--max-file", values["max-file"].as<std::string>());
    if (options.limits.max_bytes < least_file)
      throw Error("--max-file: at least 1M", ExitCode::usage);
  }
  if (request.output.empty() || request.output == "-")
    throw Error("memflame record writes a file: add -o FILE.mfr", ExitCode::usage);
  request.probe.ages = true;
  request.format = nullptr;
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

Extension make_extension(RecordOptions& options) {
  Extension extension;
  extension.command = "record";
  CommandPage& page = extension.page;
  page.name = extension.command;
  page.help = "record the figures of one or more probes over time";
  page.usages = {"-p PID[,PID...] | --comm NAME -o FILE.mfr",
                 "--cgroup PATH | --container ID | --unit NAME -o FILE.mfr",
                 "-o FILE.mfr -- COMMAND ARGS"};
  page.description =
      "Looks at the figures of the probes every second and writes what has changed to FILE, until "
      "the\n"
      "target ends or Ctrl-C. FILE shows when memory came and whether it goes again: 'memflame\n"
      "timeline FILE', 'memflame leaks --from FILE', 'memflame render FILE --at 90'. It can be "
      "read\n"
      "while it grows, and after memflame was killed.";
  page.examples = {{"memflame record -p 1234 -o server.mfr", "record who allocates until Ctrl-C"},
                   {"memflame record --max-file 64M -p 1234 -o week.mfr", "for days"},
                   {"memflame record --probes fault -o rss.mfr -- ./server",
                    "who makes pages resident, from the start of a program"},
                   {"memflame record --probes alloc,brk,mmap,fault -p 1234 -o all.mfr",
                    "everything at once: is it the heap, or memory beside it?"}};
  page.operands = Operands::command;
  extension.draws = false;
  extension.visible.add(record_options());
  extension.read = [&options](const po::variables_map& values, Request& request) {
    read_options(values, options, request);
  };
  return extension;
}

}  // namespace

CommandPage record_page() {
  RecordOptions unused;
  const Extension extension = make_extension(unused);
  return page_of(*probes().front(), &extension);
}

int run_record(const Arguments& arguments) {
  const std::vector<const Probe*> chosen = probes_of(arguments);
  const Probe& probe = *chosen.front();
  RecordOptions options;
  Extension extension = make_extension(options);
  extension.beside.assign(chosen.begin() + 1, chosen.end());
  std::optional<Request> request = read_request(probe, arguments, &extension);
  if (!request) return 0;
  Recorder recorder(options, *request);
  return run_request(probe, *request, &recorder);
}

}  // namespace memflame
