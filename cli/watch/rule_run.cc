// SPDX-License-Identifier: BSD-2-Clause
#include "cli/watch/rule_run.h"

#include <malloc.h>

#include <string>

#include "cli/runs/run_request.h"
#include "cli/watch/rule_watcher.h"
#include "core/error.h"
#include "probes/heaps/go/go_run.h"

namespace memflame {
namespace {

// Whether the heaps of Go programs are read beside what another collector sees, as no function of
// theirs can be probed: unless the rule says who collects, or asks for what Go does not know.
// Budgets and rates are for the other collector.
bool reads_go_beside(const RuleRequest& rule) {
  if (rule.probe->inside == false || rule.request.probe.collect != Collect::by_rights) return false;
  ProbeOptions common = rule.request.probe;
  common.own.reset();
  return refused_by_go_heap(common).empty();
}

}  // namespace

RuleResult run_rule(const WatchRule& rule, const ReadRule& read, const RuleLinks& links) {
  // Windows are made by a new thread each, which would have a heap of its own.
  ::mallopt(M_ARENA_MAX, 1);
  try {
    RuleRequest prepared = read(rule);
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
