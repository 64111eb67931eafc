// SPDX-License-Identifier: BSD-2-Clause
// The figures that a verdict rests on, from what a ledger remembers of a track. judge.cc has the
// rules that use them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collapse/verdicts/track_record.h"
#include "collapse/verdicts/verdict.h"

namespace memflame {

// The times that a ledger's numbers stand for.
struct RunClock {
  std::span<const uint64_t> begins;  // of the stretches
  uint64_t surveyed_ns = 0;          // the end of the last stretch
  std::span<const uint64_t> bins;    // the end of each bin
  uint64_t now_ns = 0;
  bool is_over = false;
  bool is_collected = false;  // a garbage collector frees the blocks, see judge_collected()
};

// A stretch with births. Times are seconds since counting began.
struct Brood {
  double from = 0, to = 0;
  double blocks = 0, bytes = 0;  // allocated
  double live_blocks = 0, live_bytes = 0, samples = 0;
};

// Blocks that are much older than any life from their stack that has ended.
struct Survivors {
  double life_s = 0;           // nothing else lives longer
  double from = 0, until = 0;  // births between these times can be judged
  double blocks = 0, bytes = 0, samples = 0;
  double allocated = 0;  // blocks, in the same stretches
  double oldest_birth = 0, last_birth = 0;
  bool is_spread = false;    // they come from all parts of that time
  bool has_stopped = false;  // no more have come for a time that chance does not explain
};

struct Evidence {
  double now = 0, first = 0;  // times of the verdict and of the first block that counts
  double watched_s() const { return now - first; }
  std::vector<Brood> broods;          // in the order of time; warm-up excluded
  double live = 0, live_samples = 0;  // blocks at the latest survey
  double weight = 1;                  // blocks per sample

  // The live bytes of equally long slices, without warm-up and tail, and of all.
  std::vector<int64_t> slices;
  std::vector<double> slice_ends;
  size_t judged_slices = 0;
  double dispersion = 1;  // variance / mean of the live blocks of the latest quarter
  double flat_since = 0;  // from here on the live bytes stay level

  double longest_life_s = 0;  // without the 1 % that live longest
  double median_life_s = 0;
  double deaths = 0;        // samples whose life has ended
  double young_deaths = 0;  // samples whose life ended in the first third of the median
  double old_share = 1;     // of the blocks born in the first half, how many live
  double late_deaths = 0;   // blocks that died in the tail, older than any before
};

Evidence evidence_of(const TrackRecord& record, const RunClock& clock,
                     const VerdictOptions& options);

// The survivors, with the shortest life that explains all but a few deaths. `blocks` is 0 if there
// are none.
Survivors survivors_of(const Evidence& evidence, const TrackRecord& record, double tail_s);

// The bytes that live by their time of birth until `until_s`, added up, in equally long slices.
std::vector<int64_t> curve_of(const Evidence& evidence, double until_s);

// The bytes that the survivors' births add per second: their floor, and not the slope of `live`.
Interval rate_of(const Survivors& survivors, const Evidence& evidence, const RunClock& clock);

// What is known of a stack whatever the verdict is: amounts, the maximum, how long it was watched.
void describe_amounts(Verdict& verdict, const TrackRecord& record, const Evidence& evidence);

}  // namespace memflame
