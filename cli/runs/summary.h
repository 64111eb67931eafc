// SPDX-License-Identifier: BSD-2-Clause
// A run's report apart from its picture: JSON for programs, some lines for people.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "core/profile.h"
#include "probes/run/run.h"

namespace memflame {

void write_summary_json(std::ostream& out, const Profile& profile, const RunInfo& info);

// A few lines on stderr: captured values next to the OS's, and every loss.
void write_summary_text(std::ostream& out, const Profile& profile, const RunInfo& info,
                        const std::string& output, bool verbose);

// The part of it that says what is missing: notes, and every loss.
void write_missing(std::ostream& out, const std::vector<std::string>& notes, const Losses& losses);

}  // namespace memflame
