// SPDX-License-Identifier: BSD-2-Clause
// What reports of blocks and of changes have in common.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "collapse/report/report_bins.h"
#include "collapse/report/report_of.h"
#include "collapse/verdicts/marks.h"
#include "core/history.h"
#include "core/recording.h"
#include "core/report.h"

namespace memflame {

inline ReportBins::Steps steps_of(const ReportOptions& options) {
  return options.lasting_edges ? ReportBins::Steps::lasting : ReportBins::Steps::finest;
}

// The times that ought to be edges, the most important first: the peak, markers, ends of gaps.
std::vector<uint64_t> exact_times(const History& history, uint64_t peak_ns);

// Sets edges, peak, marks and gaps. Appends to `notes` which of them are not where they should be.
// `snaps`: edges are looks, so markers and gaps need not be at edges.
void set_moments(Report& report, const ReportBins& bins, const History& history, uint64_t peak_ns,
                 bool snaps, std::vector<std::string>& notes);

// Gauges and totals. Needs symbolize() to have run.
Timeline lines_of(const History& history);

// Leaves only the last part of the names of source files.
void drop_source_folders(Recording& recording);

// One row, of a sum of a recording.
struct RawReportRow {
  uint32_t sum = 0;  // in Recording::sums
  uint32_t born = 0, freed = ReportRow::never;
};

// Folds the recording, with verdicts if there are any, and makes the report's rows: sums of the
// same names are one stack. `values` has as many figures for each row as there are columns; rows
// are by sum.
void set_rows(Report& report, const Recording& recording, const std::optional<JudgedRun>& judged,
              const std::vector<RawReportRow>& rows, const std::vector<int64_t>& values);

}  // namespace memflame
