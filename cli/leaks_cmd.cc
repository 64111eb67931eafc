// SPDX-License-Identifier: BSD-2-Clause
// memflame leaks: does what bcc's memleak does; docs/leaks.md maps its options to these.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "cli/completed.h"
#include "cli/drawing_options.h"
#include "cli/files/output_file.h"
#include "cli/leaks/leaks_gate.h"
#include "cli/leaks/leaks_lines.h"
#include "cli/leaks/leaks_watcher.h"
#include "cli/leaks_from.h"
#include "cli/leaks_options.h"
#include "cli/options.h"
#include "cli/probe_request.h"
#include "core/error.h"
#include "fleet/clickhouse/question.h"

namespace po = boost::program_options;

namespace memflame {
namespace {

constexpr double least_interval = 0.01;
constexpr double largest_interval = 1e8;

po::options_description leaks_options() {
  po::options_description options("Leaks");
  options.add_options()("from", po::value<std::string>()->value_name("FILE"),
                        "report on a recording (memflame record), or on a service in a store, "
                        "instead; with --top, --sort, "
                        "--bytes, -v, -o, --format text or jsonl, and the options for verdicts "
                        "and continuous integration");
  options.add_options()("kernel", po::bool_switch(),
                        "watch the kernel's own allocations; needs no target");
  options.add_options()("older", po::value<uint64_t>()->value_name("MS"),
                        "count blocks at least MS milliseconds old (default: 500), and those that "
                        "ended processes left. 0: all of them, from sums that the kernel keeps, "
                        "which is cheapest");
  options.add_options()("top", po::value<uint64_t>()->value_name("N"),
                        "print N stacks (default: 10)");
  options.add_options()("sort", one_of("WHAT", {"evidence", "growth", "size", "count"}),
                        "evidence (default): what leaks first; growth, size or count");
  options.add_options()("show-blocks", po::bool_switch(),
                        "also print the blocks of each stack: address, size and age");
  options.add_options()("blocks-per-stack", po::value<uint64_t>()->value_name("N"),
                        "print the N oldest of these (default: 20)");
  options.add_options()("reachable", po::bool_switch(),
                        "at the end of the run, stop the target for a moment and find out to which "
                        "blocks pointers still lead; a COMMAND that ends is scanned at its end");
  options.add_options()("trace", po::bool_switch(), "print each call of an allocator as a line");
  options.add_options()("bytes", po::bool_switch(), "print bytes in full, not as KiB, MiB, …");
  return options;
}

po::options_description leaks_places() {
  po::options_description options;
  options.add_options()("interval-count", po::value<std::vector<std::string>>());
  return options;
}

template <class T>
bool is_number(const std::string& text, T& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc{} && end == text.data() + text.size();
}

void read_places(const po::variables_map& values, LeaksOptions& options) {
  if (values.count("interval-count") == 0) return;
  const auto& words = values["interval-count"].as<std::vector<std::string>>();
  if (words.size() > 2)
    throw Error(
        "'" + words[2] + "' is one argument too many: memflame leaks takes INTERVAL and COUNT",
        ExitCode::usage);
  if (!is_number(words[0], options.interval) || !(options.interval >= least_interval) ||
      options.interval > largest_interval)
    throw Error("INTERVAL " + words[0] + ": expected a number of seconds, at least 0.01",
                ExitCode::usage);
  if (words.size() > 1 && (!is_number(words[1], options.count) || options.count == 0))
    throw Error("COUNT " + words[1] + ": expected a number of reports, at least 1",
                ExitCode::usage);
}

// nullptr for text.
const Output* format_of(const std::string& named, const std::string& output) {
  if (named == "text") return nullptr;
  if (!named.empty()) {
    const auto known = outputs();
    if (std::none_of(known.begin(), known.end(), [&](const Output& o) { return o.name == named; }))
      throw Error("--format takes text, jsonl, " + format_names("text") + ", not '" + named + "'",
                  ExitCode::usage);
    return &output_for(named, output);
  }
  for (const Output& each : outputs())
    if (each.name != "text" && output.ends_with(each.suffix)) return &output_for("", output);
  return nullptr;
}

// What goes with verdicts, and would be ignored without them.
void read_check(const po::variables_map& values, LeaksOptions& options, const Request& request) {
  const std::string given = verdict_option_given(values);
  if (given.empty()) return;
  if (!request.probe.ages)
    throw Error(given + " needs the ages of blocks, which --older 0 leaves out", ExitCode::usage);
  options.verdicts = read_verdict_options(values);
  options.gate = read_gate(values, options.verdicts);
  if (request.format != nullptr && !options.gate)
    throw Error(given + " is for reports and for --fail-on, not for pictures", ExitCode::usage);
}

void read_reachable(const po::variables_map& values, LeaksOptions& options, Request& request) {
  take(values, "reachable", options.reachable);
  request.probe.reachable = options.reachable;
  if (!options.reachable) {
    if (options.gate && options.gate->options.fails_on_lost())
      throw Error("--fail-on lost needs --reachable", ExitCode::usage);
    return;
  }
  for (const char* sampling : {"sample", "every", "max-overhead"})
    if (values.count(sampling) != 0 && !values[sampling].defaulted())
      throw Error(std::string("--reachable must know every block: leave out --") + sampling,
                  ExitCode::usage);
  if (request.format != nullptr && !options.gate)
    throw Error("--reachable is for reports and for --fail-on, not for pictures", ExitCode::usage);
}

// memleak's -o takes an age, so a bare number is probably one.
void refuse_bare_number(const std::string& output) {
  uint64_t age = 0;
  if (is_number(output, age))
    throw Error("-o " + output + " would write a file of that name: for blocks at least " + output +
                    " ms old, as with memleak, give --older " + output + "; for the file, -o ./" +
                    output,
                ExitCode::usage);
}

void read_options(const po::variables_map& values, LeaksOptions& options, Request& request) {
  read_places(values, options);
  uint64_t older_ms = options.older_ns / 1'000'000;
  take(values, "older", older_ms);
  if (older_ms > UINT64_MAX / 1'000'000)
    throw Error("--older " + std::to_string(older_ms) + ": the run cannot last that long",
                ExitCode::usage);
  options.older_ns = older_ms * 1'000'000;
  take(values, "top", options.top);
  if (options.top == 0) throw Error("--top must be at least 1, not 0", ExitCode::usage);
  take(values, "show-blocks", options.show_blocks);
  take(values, "blocks-per-stack", options.blocks_per_stack);
  if (values.count("blocks-per-stack") != 0) options.show_blocks = true;
  take(values, "trace", options.trace);
  request.probe.calls = options.trace;
  take(values, "bytes", options.exact);
  request.probe.ages = options.older_ns != 0 || options.show_blocks;
  if (values.count("older") != 0) options.needs_ages = "--older";
  if (options.show_blocks) options.needs_ages = "--show-blocks";
  options.order = leaks_order(values, request.probe.ages);
  options.by_count = options.order == LeaksOrder::count;
  std::string format;
  take(values, "format", format);
  refuse_bare_number(request.output);
  options.json_lines = is_json_lines(format, request.output);
  if (!options.json_lines) request.format = format_of(format, request.output);
  read_check(values, options, request);
  read_reachable(values, options, request);
  const bool to_stdout = request.output.empty() || request.output == "-";
  for (const std::string& drawing : looks_given(values))
    if (request.format == nullptr)
      throw Error("--" + drawing + " is for pictures: add --format svg, or -o FILE.svg",
                  ExitCode::usage);
  if (options.show_blocks && request.format != nullptr)
    throw Error("--show-blocks is for --format text or jsonl", ExitCode::usage);
  if (options.json_lines && (options.trace || options.exact))
    throw Error(std::string(options.trace ? "--trace" : "--bytes") + " is for --format text",
                ExitCode::usage);
  if (options.trace && request.format != nullptr && to_stdout)
    throw Error("--trace writes its lines to standard output: add -o FILE for the picture",
                ExitCode::usage);
  // A status line would disturb the reports.
  if (request.format == nullptr || options.trace) request.probe.status_line = false;
}

Extension make_extension(bool kernel, LeaksOptions& options) {
  Extension extension;
  extension.command = "leaks";
  CommandPage& page = extension.page;
  page.name = extension.command;
  page.help = "print outstanding memory again and again while the target runs";
  page.usages = {"-p PID[,PID...] | --comm NAME [INTERVAL [COUNT]]",
                 "--cgroup PATH | --container ID | --unit NAME [INTERVAL [COUNT]]",
                 "[INTERVAL [COUNT]] -- COMMAND ARGS", "--kernel [INTERVAL [COUNT]]",
                 "--from FILE.mfr | clickhouse://HOST/DATABASE?service=NAME"};
  page.description =
      "Every INTERVAL seconds (default: 5), COUNT times or until the target ends, prints the "
      "stacks\n"
      "that hold most of the memory allocated and not freed, and the change since the last\n"
      "report. Ctrl-C ends it with a last report.";
  page.examples = {{"memflame leaks -p 1234", "report on a process every 5 seconds until Ctrl-C"},
                   {"memflame leaks 60 10 -- ./server", "every minute, ten times"},
                   {"memflame leaks --kernel 10", "what the kernel itself holds"},
                   {"memflame leaks --reachable --fail-on lost -- ./test",
                    "fail if blocks are left to which no pointer leads"},
                   {"memflame leaks --fail-on leak --report leaks.xml -- ./test",
                    "fail a build if a test leaks"}};
  page.operands = Operands::command;
  extension.formats =
      "text (default), jsonl (each report as a line of JSON), or the same blocks as " +
      format_names("text") + "; a FILE is replaced at each interval";
  extension.no_target = "; for the kernel's own allocations: memflame leaks --kernel";
  extension.visible.add(leaks_options()).add(verdict_options()).add(gate_options());
  extension.hidden.add(leaks_places());
  extension.positional = "interval-count";
  extension.read = [kernel, &options](const po::variables_map& values, Request& request) {
    read_options(values, options, request);
    if (kernel && options.reachable)
      throw Error("--reachable looks for pointers in processes; --kernel has none to look at",
                  ExitCode::usage);
    if (kernel && options.trace)
      throw Error("--trace: calls of the kernel's allocators are not recorded one by one",
                  ExitCode::usage);
  };
  return extension;
}

// Go's own profile knows no ages, and needs none for verdicts.
void settle_for_go(LeaksOptions& options, Request& request) {
  if (!options.needs_ages.empty())
    throw Error(options.needs_ages +
                    " needs the ages of blocks, which Go's heap profile does not have: leave it "
                    "out, or follow calls of malloc (--collect kernel)",
                ExitCode::usage);
  options.older_ns = 0;
  request.probe.ages = true;
}

// The probe that follows blocks of the kernel, or of programs.
const Probe& probe_of_blocks(bool of_kernel) {
  for (const Probe* probe : probes())
    if (probe->has_blocks && probe->user_stacks != of_kernel) return *probe;
  throw Error("internal: no probe follows such blocks");
}

}  // namespace

// The kernel's allocators have some options that the others lack.
CommandPage leaks_page() {
  LeaksOptions unused;
  const Extension extension = make_extension(false, unused);
  CommandPage page = page_of(probe_of_blocks(false), &extension);
  const po::options_description known = all_options(page);
  po::options_description more("With --kernel");
  const po::options_description of_kernel = all_options(page_of(probe_of_blocks(true), &extension));
  for (const auto& option : of_kernel.options())
    if (known.find_nothrow(option->long_name(), false) == nullptr) more.add(option);
  page.options.push_back(std::move(more));
  return page;
}

int run_leaks(const Arguments& arguments) {
  const auto own_end = std::find(arguments.begin(), arguments.end(), "--");
  const bool from_file = std::any_of(arguments.begin(), own_end, [](const std::string& word) {
    return word == "--from" || word.starts_with("--from=");
  });
  if (from_file && std::find(arguments.begin(), own_end, "--reachable") != own_end)
    throw Error("--reachable looks at running programs; a recording has no memory to look at",
                ExitCode::usage);
  if (from_file) return run_leaks_from({arguments.begin(), own_end});
  const auto store = std::find_if(arguments.begin(), own_end,
                                  [](const std::string& word) { return is_store_address(word); });
  if (store != own_end) {
    Arguments as_source(arguments.begin(), own_end);
    as_source.insert(as_source.begin() + (store - arguments.begin()), "--from");
    return run_leaks_from(as_source);
  }
  const bool kernel = std::find(arguments.begin(), own_end, "--kernel") != own_end;
  const Probe& probe = probe_of_blocks(kernel);
  LeaksOptions options;
  const Extension extension = make_extension(kernel, options);
  std::optional<Request> request = read_request(probe, arguments, &extension);
  if (!request) return 0;
  if (settle_go_heap(probe, *request)) settle_for_go(options, *request);
  LeaksWatcher watcher(options, *request);
  return run_request(probe, *request, &watcher);
}

}  // namespace memflame
