// SPDX-License-Identifier: BSD-2-Clause
// memflame leaks --from clickhouse://…: the report on a fleet.
#pragma once

#include <boost/program_options.hpp>
#include <string>

#include "cli/leaks_report.h"
#include "cli/leaks_verdicts.h"
#include "collapse/verdicts/verdict.h"

namespace memflame {

struct StoreLeaksView {
  size_t most = 10;         // stacks to show
  bool all_frames = false;  // --verbose
  LeaksOrder order = LeaksOrder::evidence;
};

LeaksReport report_on_store(const std::string& address, const VerdictOptions& options,
                            const StoreLeaksView& view);

}  // namespace memflame
