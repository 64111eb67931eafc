// SPDX-License-Identifier: BSD-2-Clause
// memflame top: which stacks hold memory now, on a screen that is renewed.
#include <algorithm>
#include <optional>

#include "cli/completed.h"
#include "cli/files/command_output.h"
#include "cli/leaks/leaks_gate.h"
#include "cli/leaks_options.h"
#include "cli/options.h"
#include "cli/probe_request.h"
#include "cli/screen/terminal.h"
#include "cli/screen/top_watcher.h"
#include "core/error.h"

namespace po = boost::program_options;

namespace memflame {
namespace {

constexpr double shortest_top_interval = 0.1;
constexpr double longest_top_interval = 1e6;

po::options_description top_options() {
  po::options_description options("Top");
  options.add_options()("interval", po::value<double>()->value_name("SECONDS"),
                        "renew the figures so often (default: 1, at least 0.1)");
  std::vector<std::string> words;
  for (size_t i = 0; i < top_columns; ++i) words.emplace_back(word_of(static_cast<TopColumn>(i)));
  options.add_options()("sort", memflame::one_of("COLUMN", words),
                        "sort by live bytes (default), blocks, growth, verdict or name; s, < and > "
                        "change it");
  options.add_options()("kernel", po::bool_switch(),
                        "watch the kernel's own allocations; needs no target");
  return options;
}

void read_top_options(const po::variables_map& values, TopOptions& options, Request& request) {
  take(values, "interval", options.interval);
  if (!(options.interval >= shortest_top_interval) || options.interval > longest_top_interval)
    throw Error("--interval: expected a number of seconds, at least 0.1", ExitCode::usage);
  if (values.count("sort") != 0) {
    const auto& word = values["sort"].as<std::string>();
    const std::optional<TopColumn> column = top_column(word);
    if (!column)
      throw Error("--sort takes live, blocks, growth, verdict or name, not '" + word + "'",
                  ExitCode::usage);
    options.sort = *column;
  }
  options.verdicts = read_verdict_options(values);
  if (!request.output.empty() && request.probe.target.command.empty())
    throw Error("-o " + request.output +
                    " is for what a COMMAND writes; for a picture, press w on the screen",
                ExitCode::usage);
  if (request.output == "-")
    throw Error("-o -: memflame draws on standard output: name a file", ExitCode::usage);
  require_terminal();
  request.probe.ages = true;
  request.probe.status_line = false;
  request.format = nullptr;
}

Extension make_extension(TopOptions& options) {
  Extension extension;
  extension.command = "top";
  CommandPage& page = extension.page;
  page.name = extension.command;
  page.help = "show on a screen that is renewed which stacks hold memory now";
  page.usages = {"-p PID[,PID...] | --comm NAME", "--cgroup PATH | --container ID | --unit NAME",
                 "-- COMMAND ARGS", "--kernel"};
  page.description =
      "Fills the terminal with the stacks that hold memory allocated and not freed: their bytes,\n"
      "blocks, growth, bars of the last minute, the verdict, and the code that wanted the memory.\n"
      "Enter shows the callers, w writes a picture, h lists the keys, q ends. 'memflame leaks'\n"
      "prints the same as text.";
  page.examples = {
      {"memflame top -p 1234", "watch a process until q or Ctrl-C"},
      {"memflame top -o server.log -- ./server", "start a program; what it writes goes to a file"},
      {"memflame top --sort growth -p 1234", "what grows fastest comes first"}};
  page.operands = Operands::command;
  extension.draws = false;
  extension.output =
      "write the standard output and standard error of COMMAND to FILE (default: to a file in "
      "$TMPDIR or /tmp, which is named at the end)";
  extension.no_target = "; for the kernel's own allocations: memflame top --kernel";
  extension.visible.add(top_options()).add(verdict_options());
  extension.read = [&options](const po::variables_map& values, Request& request) {
    read_top_options(values, options, request);
  };
  return extension;
}

const Probe& probe_that_follows_blocks(bool of_kernel) {
  for (const Probe* probe : probes())
    if (probe->has_blocks && probe->user_stacks != of_kernel) return *probe;
  throw Error("internal: no probe follows such blocks");
}

}  // namespace

CommandPage top_page() {
  TopOptions unused;
  const Extension extension = make_extension(unused);
  return page_of(probe_that_follows_blocks(false), &extension);
}

int run_top(const Arguments& arguments) {
  const auto own_end = std::find(arguments.begin(), arguments.end(), "--");
  const bool kernel = std::find(arguments.begin(), own_end, "--kernel") != own_end;
  const Probe& probe = probe_that_follows_blocks(kernel);
  TopOptions options;
  const Extension extension = make_extension(options);
  std::optional<Request> request = read_request(probe, arguments, &extension);
  if (!request) return 0;
  std::optional<CommandOutput> output;
  if (!request->probe.target.command.empty()) {
    request->streams = output.emplace(request->output).streams();
    options.command_output = output->path();
  }
  request->output.clear();  // nothing else is written
  TopWatcher watcher(options, *request);
  return run_request(probe, *request, &watcher);
}

}  // namespace memflame
