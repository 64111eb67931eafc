// SPDX-License-Identifier: BSD-2-Clause
// A report as JSON: all of its figures, for scripts. docs/report.md describes it.
#pragma once

#include <ostream>

#include "core/report.h"

namespace memflame {

void write_report_json(std::ostream& out, const Report& report);

}  // namespace memflame
