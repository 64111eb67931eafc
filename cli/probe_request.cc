// SPDX-License-Identifier: BSD-2-Clause
#include "cli/probe_request.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "cli/completed.h"
#include "cli/drawing_options.h"
#include "cli/option_rows.h"
#include "cli/options.h"
#include "cli/runs/durations.h"
#include "cli/runs/run_verdicts.h"
#include "cli/runs/version.h"
#include "cli/target_options.h"
#include "cli/terminal_looks.h"
#include "cli/tidy_options.h"
#include "core/error.h"
#include "core/units.h"
#include "probes/run/memory_plan.h"

namespace po = boost::program_options;

namespace memflame {
namespace {

po::options_description value_option(const Probe& probe) {
  po::options_description options;
  std::string known;
  std::vector<std::string> words;
  for (const ProbeValue& value : probe.values) {
    known += (known.empty() ? "" : ", ") + std::string(value.name);
    words.emplace_back(value.name);
  }
  options.add_options()(
      "value", one_of("WHAT", words),
      ("what to draw: " + known + " (default: " + std::string(probe.values.front().name) + ")")
          .c_str());
  return options;
}

po::options_description measure_options(const Probe& probe, std::span<const OptionRow> rows,
                                        bool draws) {
  po::options_description options("Measure");
  options.add_options()("duration,d", po::value<double>()->value_name("SECONDS"),
                        "stop measuring after this many seconds; a COMMAND runs on (default: when "
                        "the target ends, or Ctrl-C)");
  add_rows(options, rows, OptionGroup::measure);
  if (probe.user_stacks && draws)
    options.add_options()("per-pid", po::bool_switch(), "tell processes of one name apart");
  return options;
}

// The options of a command that does not draw.
po::options_description file_options(const std::string& help) {
  po::options_description options("Output");
  options.add_options()("output,o", po::value<std::string>()->value_name("FILE"), help.c_str());
  return options;
}

po::options_description trigger_options() {
  po::options_description options("While it runs");
  options.add_options()(
      "when", po::value<std::vector<std::string>>()->composing()->value_name("CONDITION"),
      "write a numbered picture of the run so far when CONDITION becomes true: 'every 10m', 'rss > "
      "2G', 'growth > 100M/h' (of resident memory, over ten minutes), 'pressure > 10' (percent of "
      "time in which tasks wait for memory). Can be repeated");
  options.add_options()("keep", po::value<unsigned>()->value_name("N"),
                        "keep only the newest N of these pictures (default: all)");
  return options;
}

void read_trigger_options(const po::variables_map& values, Request& request) {
  if (values.count("when") != 0)
    for (const std::string& text : values["when"].as<std::vector<std::string>>())
      request.conditions.push_back(parse_condition(text));
  const bool by_processes = std::any_of(request.conditions.begin(), request.conditions.end(),
                                        [](const Condition& condition) {
                                          return condition.figure == Condition::Figure::rss ||
                                                 condition.figure == Condition::Figure::growth;
                                        });
  if (by_processes && request.probe.target.whole_system())
    throw Error("--when rss and growth are about processes: name them, " + target_choices(),
                ExitCode::usage);
  take(values, "keep", request.keep);
  if (values.count("keep") != 0 && request.keep == 0)
    throw Error("--keep 0: at least one picture is kept", ExitCode::usage);
}

po::options_description report_options() {
  po::options_description options("Report");
  options.add_options()(
      "memory", po::value<std::string>()->value_name("LIMIT"),
      "most memory for the kernel's tables and memflame itself together: 64M "
      "(default: what the tables need; an eighth of what is free if that is less)");
  options.add_options()("summary", po::value<std::string>()->value_name("FILE"),
                        "write totals, reconciliation and losses to FILE as JSON");
  options.add_options()("strict", po::bool_switch(), "exit with 4 if anything was lost");
  options.add_options()("verbose,v", po::bool_switch(), "verbose: print more on stderr");
  options.add_options()("help,h", "show this");
  options.add_options()("version", "show the version");
  return options;
}

// For tests: small tables, a sign that counting has begun, and a check of walked stacks.
po::options_description hidden_options() {
  po::options_description options;
  options.add_options()("max-stacks", po::value<uint32_t>());
  options.add_options()("ring-bytes", po::value<uint32_t>());
  options.add_options()("ready-fd", po::value<int>());
  options.add_options()("check-stacks", po::value<std::string>());
  options.add_options()("check-every", po::value<uint32_t>());
  return options;
}

NameTable values_of(const Probe& probe) {
  NameTable table{.title = "What --value can draw"};
  ProbeOptions options = default_options(probe);
  for (const ProbeValue& value : probe.values) {
    options.value = value.name;
    const ValueType type = probe.types(options, false)[value.column];
    table.rows.push_back({std::string(value.name),
                          std::string(value.help) + " [" + std::string(name(type.unit)) + "]"});
  }
  return table;
}

std::vector<Example> examples_of(const Probe& probe) {
  const std::string name = "memflame " + std::string(probe.name);
  std::vector<Example> examples{
      {name + " -p 1234 -d 60 -o graph.svg", "watch a process for a minute, and draw it"},
      {name + " -o graph.svg -- ./server --port 80", "run a program and watch it from its start"},
      {name + " --comm postgres --format folded > stacks.folded",
       "watch all processes of a name until Ctrl-C, and write stacks as text"}};
  for (const ProbeExample& example : probe.examples)
    examples.push_back({name + " " + std::string(example.arguments), std::string(example.meaning)});
  if (probe.whole_system)
    examples.push_back({name + " -d 10 -o system.svg", "watch the whole system for ten seconds"});
  return examples;
}

CommandPage own_page(const Probe& probe) {
  CommandPage page{.name = std::string(probe.name), .help = std::string(probe.help)};
  page.usages = {"-p PID[,PID...] | --comm NAME | --cgroup PATH | --container ID | --unit NAME",
                 "[options] -- COMMAND ARGS"};
  if (probe.whole_system) page.usages.emplace_back("           (the whole system)");
  page.description = probe.description;
  page.tables = {values_of(probe)};
  page.examples = examples_of(probe);
  page.operands = Operands::command;
  return page;
}

uint32_t power_of_two(uint32_t bytes) {
  uint32_t power = 4096;
  while (power < bytes && power < (1U << 30)) power *= 2;
  return power;
}

void read_check_options(const po::variables_map& values, ProbeOptions& options) {
  take(values, "check-stacks", options.check_file);
  if (!options.check_file.empty()) options.check_every = 1;
  take(values, "check-every", options.check_every);
}

// The probes that run beside the first one, with the run's options and their own. An option that
// several of them have is set for all of these.
std::vector<ProbeRun> read_beside(const std::vector<const Probe*>& probes,
                                  const po::variables_map& values, const ProbeOptions& first) {
  std::vector<ProbeRun> runs;
  for (const Probe* probe : probes) {
    ProbeRun& run = runs.emplace_back(ProbeRun{probe, first});
    const ProbeOptions defaults = default_options(*probe);
    run.options.own = defaults.own;
    run.options.value = defaults.value;
    run.options.kernel_stacks = defaults.kernel_stacks;
    run.options.min_size = defaults.min_size;
    run.options.max_size = defaults.max_size;
    read_rows(values, option_rows(*probe, run.options));
    settle_options(run.options);
  }
  return runs;
}

// The options of all probes, each once.
std::vector<OptionRow> rows_of(const Probe& probe, const Extension* extension,
                               std::vector<ProbeOptions>& options) {
  std::vector<const Probe*> probes{&probe};
  if (extension != nullptr)
    probes.insert(probes.end(), extension->beside.begin(), extension->beside.end());
  options.reserve(probes.size());  // rows point to them
  std::vector<OptionRow> rows;
  for (const Probe* each : probes)
    for (OptionRow& row : option_rows(*each, options.emplace_back(default_options(*each)))) {
      const bool is_known = std::any_of(
          rows.begin(), rows.end(), [&](const OptionRow& known) { return known.name == row.name; });
      if (!is_known) rows.push_back(std::move(row));
    }
  return rows;
}

Request request_of(const Probe& probe, const po::variables_map& values, const Arguments& command,
                   const Extension* extension) {
  Request request;
  ProbeOptions& options = request.probe = default_options(probe);
  request.command = extension != nullptr ? extension->command : std::string(probe.name);
  request.first = probe.name;
  options.target = read_target(values, command);
  if (options.target.whole_system() && !probe.whole_system)
    throw Error("memflame " + request.command + " needs a target: " + target_choices() +
                    (extension != nullptr ? extension->no_target : ""),
                ExitCode::usage);
  take(values, "value", options.value);
  if (values.count("duration") != 0) {
    options.seconds = values["duration"].as<double>();
    if (!(*options.seconds > 0) || !std::isfinite(*options.seconds))
      throw Error("-d: the duration must be a positive number of seconds", ExitCode::usage);
  }
  read_rows(values, option_rows(probe, options));
  settle_options(options);
  check_target(options.target);
  read_check_options(values, options);
  take(values, "max-stacks", options.max_stacks);
  // A copy is up to four thousand times as large as a walked stack's record in the ring.
  if (options.stacks == Stacks::copy) options.ring_bytes = 64U << 20;
  take(values, "ring-bytes", options.ring_bytes);
  if (values.count("memory") != 0)
    options.memory = parse_bytes("--memory", values["memory"].as<std::string>());
  if (values.count("memory") != 0 && options.memory < least_memory)
    throw Error("--memory: at least " + iec_bytes(int64_t{least_memory}), ExitCode::usage);
  take(values, "ready-fd", options.ready_fd);
  options.ring_bytes = power_of_two(options.ring_bytes);
  options.verbose = request.verbose = values["verbose"].as<bool>();
  options.status_line = ::isatty(STDERR_FILENO) != 0;
  take(values, "per-pid", request.pid_in_root);
  take(values, "output", request.output);
  take(values, "summary", request.summary);
  if (extension == nullptr || extension->draws) {
    request.render = render_options(values, extension != nullptr);
    request.tidying = grouping_options(values);
    request.transform = transform_of(values);
    refuse_order_of_time(request.render, "a probe only keeps sums");
    if (extension != nullptr && request.render.verdicts.value_or(false))
      throw Error("--verdicts on: memflame " + request.command +
                      " marks nothing in its pictures; alloc and kernel do",
                  ExitCode::usage);
  }
  request.strict = values["strict"].as<bool>();
  value_named(probe, options.value);
  if (extension != nullptr) {
    extension->read(values, request);
    request.beside = read_beside(extension->beside, values, request.probe);
    return request;
  }
  read_trigger_options(values, request);
  std::string format;
  take(values, "format", format);
  request.format = &output_for(format, request.output);
  warn_of_unused_looks(values, *request.format);
  fit_terminal(values, *request.format, request.output, request.render);
  request.marks_verdicts = wants_verdicts(probe, request);
  options.ages |= request.marks_verdicts;
  return request;
}

}  // namespace

CommandPage page_of(const Probe& probe, const Extension* extension) {
  CommandPage page = extension != nullptr ? extension->page : own_page(probe);
  std::vector<ProbeOptions> defaults;
  const std::vector<OptionRow> rows = rows_of(probe, extension, defaults);
  page.options = OptionGroups{target_options()};
  add_rows(page.options.back(), rows, OptionGroup::target);
  if (extension != nullptr) page.options.push_back(extension->visible);
  const bool draws = extension == nullptr || extension->draws;
  page.options.push_back(measure_options(probe, rows, draws));
  if (extension == nullptr) page.options.back().add(value_option(probe));
  if (probe.has_blocks) {
    page.options.emplace_back("Blocks");
    add_rows(page.options.back(), rows, OptionGroup::blocks);
  }
  page.options.push_back(
      draws ? drawing_options(extension != nullptr ? extension->formats : "", extension != nullptr)
            : file_options(extension->output));
  if (draws) page.options.push_back(grouping_option_list());
  if (extension == nullptr) page.options.push_back(trigger_options());
  page.options.push_back(report_options());
  return page;
}

CommandPage probe_page(const Probe& probe) { return page_of(probe, nullptr); }

std::optional<Request> read_request(const Probe& probe, const Arguments& arguments,
                                    const Extension* extension) {
  // What follows "--" belongs to the command, options and all.
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  const Arguments own(arguments.begin(), dashes);
  const Arguments command(dashes == arguments.end() ? dashes : dashes + 1, arguments.end());
  if (dashes != arguments.end() && command.empty())
    throw Error("there is no command after '--'", ExitCode::usage);

  const CommandPage page = page_of(probe, extension);
  po::options_description hidden = hidden_options();
  if (extension != nullptr) hidden.add(extension->hidden);
  const po::variables_map values = parse(page.name, own, all_options(page), hidden,
                                         extension != nullptr ? extension->positional : nullptr);
  if (values.count("help") != 0) {
    print_help(std::cout, page);
    return std::nullopt;
  }
  if (values.count("version") != 0) {
    std::cout << "memflame " << version_text() << "\n";
    return std::nullopt;
  }
  return request_of(probe, values, command, extension);
}

}  // namespace memflame
