// SPDX-License-Identifier: BSD-2-Clause
// A report as one page that needs nothing else: the flame graph of any part of the run.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "core/report.h"

namespace memflame {

// A server replaces the page while the run goes on. The page asks it for its state, which is
// live_state(), and takes the newer page when there is one.
struct LivePage {
  uint64_t version = 0;    // of the page; the first one is 1
  bool has_ended = false;  // the run: there is no newer page
};

// JSON: {"version":3,"ended":false}
std::string live_state(const LivePage& live);
// The page that is shown until there is a report. It comes again each second, unless the run has
// ended. `why` may be anything.
std::string waiting_page(std::string_view why, bool has_ended);

struct ReportLooks {
  bool icicle = false;  // root at the top instead of the bottom
  // Words of the options that have selected blocks, as commands repeat them: "--where", "size >
  // 4K".
  std::vector<std::string> options{};
  std::optional<LivePage> live{};
};

// Texts of the report may be anything. Throws Error if the sums of the report's rows do not fit in
// 64 bits, or if the rows do not fit together (a bin or a stack that does not exist).
void write_report(std::ostream& out, const Report& report, const ReportLooks& looks);

}  // namespace memflame
