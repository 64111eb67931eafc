// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/cost_sums.h"

namespace memflame {

std::optional<CostReading> CostSums::add(const CostReading& now) {
  const CostReading between{.seconds = now.seconds - last_.seconds,
                            .cpu_seconds = now.cpu_seconds - last_.cpu_seconds,
                            .cost_seconds = now.cost_seconds - last_.cost_seconds,
                            .trap_seconds = now.trap_seconds - last_.trap_seconds,
                            .read_seconds = now.read_seconds - last_.read_seconds,
                            .seen = now.seen - last_.seen,
                            .kept = now.kept - last_.kept};
  // A parent that is not watched never adds the time of its ended child: begin again from here.
  if (between.cpu_seconds < 0 && between.seconds > 4 * cost_interval_seconds) last_ = now;
  if (between.cpu_seconds < least_cpu_seconds) return std::nullopt;
  cpu_seconds_ += between.cpu_seconds;
  cost_seconds_ += between.cost_seconds;
  read_seconds_ += between.read_seconds;
  last_ = now;
  return between;
}

void CostSums::restate(const CostReading& now) {
  cpu_seconds_ += now.cpu_seconds - last_.cpu_seconds;
  cost_seconds_ += now.cost_seconds - last_.cost_seconds;
  read_seconds_ += now.read_seconds - last_.read_seconds;
  last_ = now;
}

}  // namespace memflame
