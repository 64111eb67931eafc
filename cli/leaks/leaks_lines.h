// SPDX-License-Identifier: BSD-2-Clause
// memflame leaks --format jsonl: a report as one line of JSON.
#pragma once

#include <string>
#include <string_view>

#include "cli/leaks/leaks_report.h"

namespace memflame {

// Whether --format or -o asks for it.
bool is_json_lines(std::string_view format, std::string_view output);

// With its newline. Bytes are exact; estimates have their standard errors.
std::string report_line(const LeaksReport& report);

}  // namespace memflame
