// SPDX-License-Identifier: BSD-2-Clause
// memflame leaks --format jsonl: a report as one line of JSON.
#pragma once

#include <string>

#include "cli/leaks_report.h"

namespace memflame {

// With its newline. Bytes are exact; estimates have their standard errors.
std::string report_line(const Report& report);

}  // namespace memflame
