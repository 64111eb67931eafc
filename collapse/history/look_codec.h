// SPDX-License-Identifier: BSD-2-Clause
// Looks as bytes, and back.
//
// Looks come in groups; each group is a sequence of columns. A figure is the difference to the one
// that its track had before, and the cells of a survey are differences to those of the survey
// before, with its stretches joined as in the new one: what did not change costs nothing. Encoder
// and decoder keep the same state, so groups are read in the order in which they were written.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "collapse/chunks/bytes.h"
#include "collapse/history/last_figures.h"
#include "core/history.h"

namespace memflame {

// What the next look is told against.
class LookState {
 public:
  LookState(size_t columns, size_t gauges)
      : columns_(columns), gauges_(gauges, 0), figures_(columns) {}
  // Gives back the memory for tracks whose figures are zero.
  void give_back_zeros() { figures_.give_back_zeros(); }

 protected:
  // The cells that a survey with these stretches has if nothing was allocated or freed since the
  // one before.
  std::vector<Look::Cell> expected(std::span<const uint64_t> stretches) const;

  size_t columns_;
  uint64_t time_ns_ = 0;
  std::vector<int64_t> gauges_;
  LastFigures figures_;
  std::vector<uint64_t> stretches_;  // of the last survey
  std::vector<Look::Cell> cells_;
};

class LookEncoder : public LookState {
 public:
  using LookState::LookState;
  // One group. Throws Error if looks are not in the order of time, or their rows not in that of
  // their tracks.
  std::string encode(std::span<const Look> looks);

 private:
  void encode_rows(std::span<const Look> looks, ByteWriter& out);
  void encode_surveys(std::span<const Look> looks, ByteWriter& out);
};

// The cells of one group; a survey with more is written as a look without a survey.
inline constexpr size_t most_cells = size_t{4} << 20U;

// Ids that exist so far.
struct LookLimits {
  size_t tracks = 0, spaces = 0;
};

class LookDecoder : public LookState {
 public:
  using LookState::LookState;
  // Appends the looks of a chunk, group by group. Throws DamagedChunk.
  void decode(ByteReader& in, const LookLimits& limits, MemoryBudget& budget,
              std::vector<Look>& into);

 private:
  void decode_group(ByteReader& in, const LookLimits& limits, MemoryBudget& budget,
                    std::span<Look> looks);
  void decode_rows(ByteReader& in, const LookLimits& limits, MemoryBudget& budget,
                   std::span<Look> looks);
  void decode_surveys(ByteReader& in, const LookLimits& limits, MemoryBudget& budget,
                      std::span<Look> looks);
};

// The memory that a look takes.
uint64_t memory_of(const Look& look);

}  // namespace memflame
