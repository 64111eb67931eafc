// SPDX-License-Identifier: BSD-2-Clause
// Figures by the names of stacks: of a report's rows, and of what commands draw.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/history.h"
#include "core/recording.h"
#include "core/report.h"

namespace memflame {

// By "root;…;leaf"; stacks whose figures are all 0 are left out.
using FiguresByStack = std::map<std::string, std::vector<int64_t>>;

// The sums of the rows for which `counts` is true, or a number of times to add them.
FiguresByStack figures_of(const Report& report, const std::function<int(const ReportRow&)>& counts);

// The sums of a symbolized recording; `columns` of them in this order.
FiguresByStack figures_of(const Recording& recording, const std::vector<size_t>& columns);

// The rows' places in time. `from` and `until` are edges.
bool is_within(uint32_t bin, uint32_t from, uint32_t until);
bool lives_at(const ReportRow& row, uint32_t edge);

// Gives each location of the recording's stacks a function: "f0" to "f<functions - 1>" in turn.
void name_stacks(Recording& recording, uint32_t functions);

}  // namespace memflame
