// SPDX-License-Identifier: BSD-2-Clause
// Recording -> Report: what a page needs to answer questions about any part of a run.
#pragma once

#include <cstddef>
#include <vector>

#include "collapse/history/reader.h"
#include "collapse/history/views.h"
#include "collapse/select/block_source.h"
#include "collapse/select/query.h"
#include "collapse/source/source.h"
#include "core/history.h"
#include "core/report.h"

namespace memflame {

class KnownNames;

struct ReportOptions {
  static constexpr size_t least_bins = 8;
  size_t bins = Report::most_bins;  // at most; least_bins or more
  // Rows and shapes together. Where a run has more, every second edge is left out until it has not.
  // A page takes about 6 bytes for each, so it stays below 20 MB.
  size_t most_rows = 2'500'000;
  Query selection{};  // the blocks that count
  // The folders of source files may reveal who built a program, and where.
  bool source_folders = true;
  // The files of code of a run that goes on, by ModuleId. Those that are open have names wherever
  // they are; a recording only says what they are called.
  std::vector<Module> modules{};
  KnownNames* names = nullptr;  // of earlier reports of this run; it outlives the report
  HistoryReadLimits limits{};
  // Edges are multiples of a power of two of a second, so that most stay where they are while the
  // run goes on.
  bool lasting_edges = false;
};

// The report of a recording: from its events if it has any, else from its looks. Throws Error if
// it has neither, if nothing is selected, if the query asks for what the run does not have, or if
// the file cannot be read.
Report report_of(Source& source, const ReportOptions& options);

// The parts of report_of(). symbolize() has run; the history loses its tables.
//
// Edges are at even distances, and at the peak of the whole run, at markers, and where gaps begin
// and end. If these are more than half of the bins, the other markers are at the nearest edge, the
// other gaps reach to the next edges around them, and a note says so. Figures at edges are those of
// figures_of_blocks(): what was allocated within bins is `total`, what was freed is `freed`.
//
// Reads the blocks once, and as often as the peak and the selection need it. Memory grows with
// stacks and most_rows, but not with blocks. `source` is of this history.
Report report_of_blocks(BlockSource& source, History& history, const ReportOptions& options);

// Edges are looks: if there are too many, those at even distances, and those at the first maximum
// of the shown figure, at markers, and around gaps. The rows of a stack until an edge add up to the
// figures of recording_at().
Report report_of_changes(History& history, const ReportOptions& options);

// What led to the memory that the processes occupied at the end of a run, as far as its probes and
// gauges say it. Empty if they say nothing.
std::vector<ReportSum> sums_at_end(const History& history);

}  // namespace memflame
