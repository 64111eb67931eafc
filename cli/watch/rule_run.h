// SPDX-License-Identifier: BSD-2-Clause
// One run of one rule of `memflame watch`.
#pragma once

#include <functional>
#include <string>

#include "cli/runs/request.h"
#include "cli/watch/watch_config.h"
#include "fleet/window.h"

namespace memflame {

// A rule as a run of probes.
struct RuleRequest {
  const Probe* probe = nullptr;
  Request request;
};
using ReadRule = std::function<RuleRequest(const WatchRule&)>;  // throws Error

// Why a run ended that was not told to.
enum class RuleEnd : int {
  told = 0,         // by a signal
  failed = 1,       // an error
  begins_anew = 2,  // its target has ended, or its control groups are others now
  too_dear = 3,     // the probes alone cost the target more than its budget
};

struct RuleResult {
  RuleEnd end = RuleEnd::failed;
  std::string problem{};  // why
};

// What a run has to do with those around it.
struct RuleLinks {
  std::function<void(const Window&)> put;  // called by another thread, for one after the other
  // The part of "max_overhead" that may be used now, see host_budget.h.
  std::function<double()> budget_share;
  std::function<void(uint64_t)> tell_table_bytes;  // of its tables in the kernel
  // How many processes the rule names of which nobody watches the heap, see GoHeaps::unwatched().
  std::function<void(uint64_t)> tell_unwatched;
  std::function<void(uint64_t events)> tell_lost;  // since the last call
};

// Watches until a signal comes.
RuleResult run_rule(const WatchRule& rule, const ReadRule& read, const RuleLinks& links);

}  // namespace memflame
