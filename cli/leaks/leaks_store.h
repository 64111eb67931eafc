// SPDX-License-Identifier: BSD-2-Clause
// memflame leaks --from clickhouse://…: the report on a fleet.
#pragma once

#include <boost/program_options.hpp>
#include <string>

#include "cli/leaks/leaks_gate.h"
#include "cli/leaks/leaks_report.h"
#include "cli/leaks/leaks_verdicts.h"
#include "collapse/verdicts/verdict.h"
#include "fleet/clickhouse/store_leaks.h"

namespace memflame {

struct StoreLeaksView {
  size_t most = 10;         // stacks to show
  bool all_frames = false;  // --verbose
  LeaksOrder order = LeaksOrder::evidence;
};

// Asks the store. Throws Error.
StoreLeaks leaks_in_store(const std::string& address, const VerdictOptions& options);

LeaksReport report_on_store(const StoreLeaks& leaks, const StoreLeaksView& view);

// Whether the service passes, as passes() says it of a run. `source`: what was asked.
bool passes_in_store(LeaksGate& gate, const StoreLeaks& leaks, const std::string& source,
                     size_t most);

}  // namespace memflame
