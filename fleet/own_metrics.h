// SPDX-License-Identifier: BSD-2-Clause
// What memflame tells of itself: the spool, the outputs, and the rules.
#pragma once

#include "fleet/figures.h"
#include "fleet/metrics_text.h"

namespace memflame {

void write_own_metrics(MetricsText& text, const FleetFigures& figures);

}  // namespace memflame
