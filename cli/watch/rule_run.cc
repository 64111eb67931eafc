// SPDX-License-Identifier: BSD-2-Clause
#include "cli/watch/rule_run.h"

#include <malloc.h>

#include <string>

#include "cli/record_options.h"
#include "cli/watch/rule_watcher.h"
#include "core/error.h"
#include "probes/languages/go/go_run.h"

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

struct Prepared {
  const Probe* probe = nullptr;
  Request request;
};

Prepared prepare(const WatchRule& rule) {
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

// Whether the heaps of Go programs are read beside what another collector sees, as no function of
// theirs can be probed: unless the rule says who collects, or asks for what Go does not know.
// Budgets and rates are for the other collector.
bool reads_go_beside(const Prepared& rule) {
  if (rule.probe->inside == false || rule.request.probe.collect != Collect::by_rights) return false;
  ProbeOptions common = rule.request.probe;
  common.own.reset();
  return refused_by_go_heap(common).empty();
}

}  // namespace

void check_rule(const WatchRule& rule) { prepare(rule); }

RuleResult run_rule(const WatchRule& rule, const RuleLinks& links) {
  // Windows are made by a new thread each, which would have a heap of its own.
  ::mallopt(M_ARENA_MAX, 1);
  try {
    Prepared prepared = prepare(rule);
    Request& request = prepared.request;
    bool go_beside = reads_go_beside(prepared);
    // A single process is watched as other commands do it.
    if (const std::vector<pid_t>& pids = request.probe.target.pids;
        go_beside && pids.size() == 1 && request.beside.empty() && keeps_go_heap(pids[0])) {
      request.probe.collect = Collect::go;
      go_beside = false;
    }
    RuleWatcher watcher(rule, request, links, go_beside ? prepared.probe : nullptr);
    try {
      run_request(*prepared.probe, request, &watcher);
    } catch (const Error&) {
      // That nothing was seen is not a failure here: processes may still come.
      if (!watcher.has_ended()) throw;
    }
    return {watcher.end_reason(), watcher.problem()};
  } catch (const std::exception& error) {
    return {RuleEnd::failed, error.what()};
  }
}

}  // namespace memflame
