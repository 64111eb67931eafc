// SPDX-License-Identifier: BSD-2-Clause
#include "cli/runs/run_ledger.h"

#include <vector>

namespace memflame {

void RunLedger::look(LiveRun& run, double seconds) {
  if (!is_on_) return;
  if (const std::optional<Look> look = axis_.look(run, seconds)) add(run, *look);
}

void RunLedger::end(LiveRun& run) {
  if (!is_on_) return;
  const Look look = axis_.last(run);
  add(run, look);
  ledger_->end(look.time_ns);
}

void RunLedger::add(LiveRun& run, const Look& look) {
  if (!ledger_) ledger_.emplace(axis_.tables().recording.types);
  ledger_->add(look, axis_.tables().tracks);
  ledger_->forget(run.forget(look, axis_.tables()));
  // One for each process that ever was; names come from the recording at the end.
  axis_.tables().recording.spaces = Paged<Space>();
  seconds_ = static_cast<double>(look.time_ns) / 1e9;
}

}  // namespace memflame
