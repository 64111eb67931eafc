// SPDX-License-Identifier: BSD-2-Clause
#include "cli/run_verdicts.h"

namespace memflame {

bool wants_verdicts(const Probe& probe, const Request& request) {
  return probe.has_blocks && request.render.verdicts.value_or(false) && request.format != nullptr &&
         (request.format->holds & verdicts) != 0;
}

void RunVerdicts::look(LiveRun& run, double seconds) {
  if (!is_on_) return;
  if (const std::optional<Look> look = axis_.look(run, seconds)) add(*look);
}

void RunVerdicts::end(LiveRun& run, double seconds) {
  if (!is_on_ || seconds < least_seconds) return;
  const Look look = axis_.last(run);
  add(look);
  ledger_->end(look.time_ns);
}

std::optional<JudgedRun> RunVerdicts::so_far() const {
  if (!ledger_ || seconds_ < least_seconds) return std::nullopt;
  const History& tables = axis_.tables();
  return JudgedRun{*ledger_, tables.tracks, tables.recording.stacks};
}

void RunVerdicts::add(const Look& look) {
  if (!ledger_) ledger_.emplace(axis_.tables().recording.types);
  ledger_->add(look, axis_.tables().tracks);
  seconds_ = static_cast<double>(look.time_ns) / 1e9;
}

}  // namespace memflame
