// SPDX-License-Identifier: BSD-2-Clause
#include "cli/rule_request.h"

#include <string>
#include <utility>

#include "cli/probe_request.h"
#include "cli/record_options.h"
#include "cli/runs/run_request.h"
#include "core/error.h"

namespace memflame {
namespace {

// The options of record that a rule has a use for.
Extension make_extension() {
  Extension extension;
  extension.command = "watch";
  extension.page.name = extension.command;
  extension.page.operands = Operands::command;
  extension.draws = false;
  boost::program_options::options_description probes;
  probes.add_options()("probes", boost::program_options::value<std::string>());
  extension.hidden.add(probes);
  extension.read = [](const boost::program_options::variables_map&, Request& request) {
    if (!request.probe.target.command.empty())
      throw Error("a rule watches processes that others start, not a command", ExitCode::usage);
    if (request.probe.seconds) throw Error("a rule has no end: leave out -d", ExitCode::usage);
    if (request.probe.reachable || request.probe.waste)
      throw Error("windows have no such figures", ExitCode::usage);
    request.probe.status_line = false;
  };
  return extension;
}

}  // namespace

RuleRequest request_of_rule(const WatchRule& rule) {
  Extension extension = make_extension();
  Arguments arguments = rule.arguments;
  // The rest is for windows and names.
  arguments.insert(arguments.end(), {"--memory", std::to_string(rule.memory / 2)});
  const Probe& probe = set_probes(extension, arguments);
  if (!probe.user_stacks)
    throw Error("the kernel's own memory belongs to no process of a rule", ExitCode::usage);
  std::optional<Request> request = read_request(probe, arguments, &extension);
  if (!request) throw Error("a rule cannot ask for help", ExitCode::usage);
  request->probe.ages = probe.has_blocks;
  request->probe.forgets_ended = true;
  request->go_heaps = true;
  if (request->probe.collect == Collect::go) settle_go_heap(probe, *request);
  return {&probe, std::move(*request)};
}

void check_rule(const WatchRule& rule) { request_of_rule(rule); }

}  // namespace memflame
