// SPDX-License-Identifier: BSD-2-Clause
// Report: what became of the memory of a run, small enough for a page that answers questions about
// any part of the run by itself. Time is divided into bins; what is known of a stack are sums by
// bins, so each figure of a part that begins and ends at edges is exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "core/profile.h"
#include "core/timeline.h"

namespace memflame {

// The rows of a report. What a row means depends on Report::kind.
struct ReportRow {
  static constexpr uint32_t never = std::numeric_limits<uint32_t>::max();
  StackId stack;
  uint32_t born = 0;       // bin
  uint32_t freed = never;  // bin; never: not freed when the recording ended. Changes have never
  friend bool operator==(const ReportRow&, const ReportRow&) = default;
};

// Blocks of the whole run that lived for about as long and are about as large.
struct ReportShape {
  uint8_t lifetime = 0;  // floor(log2 of nanoseconds), 0 for 0; of leaked blocks: until the end
  uint8_t size = 0;      // floor(log2 of bytes), 0 for 0
  uint32_t born = 0, freed = ReportRow::never;  // bins, as in rows
  int64_t bytes = 0, blocks = 0;
  friend bool operator==(const ReportShape&, const ReportShape&) = default;
};

// A line of the sum that leads from what the allocator handed out to what the process occupies.
struct ReportSum {
  std::string name;
  int64_t bytes = 0;
  uint8_t level = 0;  // a part of the line before that has a lower level
  std::string note{};
  friend bool operator==(const ReportSum&, const ReportSum&) = default;
};

struct Report {
  // Bin i reaches from edges[i] to edges[i + 1]; it contains its end, but not its beginning: what
  // happened at the instant of an edge was before it. The first bin contains 0 as well.
  static constexpr size_t most_bins = 256;

  enum class Kind : uint8_t {
    // From events. A row: all blocks of a stack that were allocated in `born` and freed in `freed`.
    // The profile's columns are "bytes" and "blocks", and their variances if blocks were sampled.
    blocks,
    // From a series. A row: how the stack's figures changed in `born`. The columns are those of the
    // recording.
    changes,
  };
  Kind kind = Kind::blocks;
  std::string file;  // the recording's name, for command lines
  // All stacks with rows. Their values are the sums of all of their rows. The marks are verdicts.
  Profile profile;
  std::vector<uint64_t> edges;  // nanoseconds since counting began; ascending, the first is 0
  std::vector<ReportRow> rows;  // by stack, in any order of stacks; then by born, freed
  std::vector<int64_t> values;  // row by row, profile.types.size() each

  struct Moment {
    uint32_t edge = 0;  // index in `edges`
    std::string name;
  };
  struct Gap {
    uint32_t from = 0, until = 0;  // edges
    uint64_t events = 0;           // lost in it; 0 if that is not known
  };
  uint32_t peak = 0;  // the edge at which the whole run had most live bytes, or the shown figure
  std::vector<Moment> marks;
  std::vector<Gap> gaps;

  // Gauges of the operating system and totals of the probes; no bands.
  Timeline lines;
  std::vector<ReportShape> shapes;  // only of blocks
  std::vector<ReportSum> sums;      // at the end of the run; may be empty

  size_t bins() const { return edges.empty() ? 0 : edges.size() - 1; }
  std::span<const int64_t> values_of(size_t row) const {
    return std::span(values).subspan(row * profile.types.size(), profile.types.size());
  }
};

}  // namespace memflame
