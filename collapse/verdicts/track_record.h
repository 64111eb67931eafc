// SPDX-License-Identifier: BSD-2-Clause
// What a ledger remembers of one track: its latest figures, its live bytes over time, and for each
// stretch how many blocks were born in it and how many of them live. Blocks that are gone are a
// table of lives by length. Cost: at most Stretches::most births, 128 points and about 100 lives,
// in all 8 KiB for a track that changes all the time and 250 bytes for one that does not.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/ids.h"

namespace memflame {

struct Births {
  uint64_t stretch_ns = 0;  // when their stretch begins
  // When the live ones were born. Narrower than the stretch if one joined another without any.
  uint64_t from_ns = 0, to_ns = 0;
  int64_t bytes = 0, blocks = 0;  // allocated in that stretch
  int64_t live_bytes = 0, live_blocks = 0;
  uint32_t samples = 0;  // of the live blocks
};

// Lives of about one length that have ended. Lengths are upper bounds: from the begin of the
// births to the survey that missed the block.
struct Lives {
  uint8_t length = 0;  // quarter octaves of a millisecond
  int64_t blocks = 0;
  float longest_s = 0;
  float first_s = 0;  // when the first of them ended
};

// The live figures at the end of a bin of time, from then on until the next point.
struct LivePoint {
  uint32_t bin = 0;
  uint32_t blocks = 0;  // at most 2^32 - 1
  int64_t bytes = 0;
};

struct TrackRecord {
  int64_t live_bytes = 0, live_blocks = 0, total_bytes = 0, total_blocks = 0;
  double live_samples = 0;    // the blocks that were really seen; only if a collector frees them
  uint64_t allocated_ns = 0;  // when the totals last grew
  // The totals at the latest survey.
  int64_t surveyed_bytes = 0, surveyed_blocks = 0;
  SpaceId space;
  bool exists = false;
  std::optional<uint64_t> ended_ns;  // its process has ended
  uint64_t first_ns = 0;             // its first block was born after this time
  int64_t maximum_bytes = 0;
  uint64_t maximum_ns = 0;
  std::vector<Births> births;     // by stretch; some of these may have become one since
  bool has_live_births = false;   // false: the latest survey found none alive
  std::vector<Lives> lives;       // by length
  int64_t ended_lives = 0;        // their sum
  std::vector<LivePoint> points;  // by bin

  // The births of a stretch; if it has none, makes some that have the times of `like`.
  Births& births_of(const Births& like);
  void add_lives(double length_s, int64_t blocks, double now_s);
  void set_live(uint32_t bin);  // a point with the latest figures
  void halve_bins();            // bins 2 i and 2 i + 1 become bin i
  // Joins the births of stretches that have become one. The stretches begin at these times.
  void join(std::span<const uint64_t> begins);
};

// The sum of several, as if their stacks were one. The sum has ended if all have.
TrackRecord sum_of(std::span<const TrackRecord> records);

}  // namespace memflame
