// SPDX-License-Identifier: BSD-2-Clause
// A verdict on one stack: whether its memory leaks, and the evidence for that.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "collapse/verdicts/leak_factor.h"
#include "collapse/verdicts/rate.h"
#include "core/history.h"
#include "core/stack_mark.h"

namespace memflame {

std::string_view name(GrowthClass growth);  // "linear", …; "" for none

struct VerdictOptions {
  // The noise floor: fewer survivors or survivor bytes are not a leak, and growth below it is
  // constant. Samples must stand for more than that.
  int64_t min_bytes = 4096, min_blocks = 8;
  double tail = 0.02;      // the last part of a run, in which programs free what they kept
  uint64_t warmup_ns = 0;  // blocks that were allocated before are not judged
};

struct Verdict {
  TrackId track;  // the first one, of several
  VerdictKind kind = VerdictKind::cannot_tell;
  GrowthClass growth = GrowthClass::none;  // of the live bytes
  Interval rate;  // leak: bytes per second that never come back; others: growth of live bytes
  Interval live_growth;       // bytes per second of live bytes
  bool is_steady = false;     // the survivors come from all parts of the run
  bool ended = false;         // the process (all of several) has ended
  bool is_collected = false;  // judged by growth: a garbage collector frees the blocks
  bool any_freed = false;     // some block from here was freed
  double leaked_share = 0;    // survivors / allocated blocks of the same age
  int64_t survivors = 0, survivor_bytes = 0;
  double oldest_s = 0;               // age of the oldest survivor
  double others_live_at_most_s = 0;  // the longest life that has ended
  double since_s = 0;                // cache: full for so long; kept: nothing new for so long
  double replaced_share = 1;         // cache: so much of what is older than this has gone:
  double replaced_within_s = 0;      // cache, comes_back
  std::string_view one_time_blocks;  // kept: what a library allocates once, "buffers of stdio"
  double wait_s = 0;                 // cannot_tell: look again after this time
  double watched_s = 0;              // since the first block
  int64_t live_bytes = 0, live_blocks = 0;
  int64_t total_bytes = 0, total_blocks = 0;
  int64_t maximum_bytes = 0;
  double maximum_at_s = 0;  // when the live bytes were at their maximum
};

// True if `a` is more wrong: steady leaks first, then by bytes.
bool is_worse(const Verdict& a, const Verdict& b);

// One sentence: "leak: 2.0 % of the blocks never come back, 19.1 KiB/s (18.6–19.7), …".
std::string in_words(const Verdict& verdict);

}  // namespace memflame
