// SPDX-License-Identifier: BSD-2-Clause
// A snapshot of a run that goes on: the outstanding blocks at one moment, summed by stack.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/reach.h"
#include "core/recording.h"
#include "probes/reach/scan.h"

namespace memflame {

class RunFigures;

struct Amount {
  int64_t bytes = 0, blocks = 0;
  // If blocks are sampled: variances in squared bytes, and in squared blocks.
  double bytes_variance = 0, blocks_variance = 0;

  Amount& operator+=(const Amount& other);
};

struct SnapshotBlock {
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t age_ns = 0;
  Reach reach = Reach::unknown;
};

struct LiveStack {
  uint64_t key = 0;
  RawStack stack;
  std::string group;
  Amount live;
  Amount old;                         // the part of `live` in blocks that are old enough
  ReachSums live_reach, old_reach;    // of these blocks, if the run was scanned (Snapshot::scanned)
  std::vector<SnapshotBlock> blocks;  // the old blocks, with SnapshotOptions::blocks
};

struct SnapshotOptions {
  // Blocks of this age or more are old. Blocks of ended processes are old at any age.
  uint64_t older_ns = 0;
  bool blocks = false;  // list each old block, not only the sums
};

struct Snapshot {
  uint64_t time_ns = 0;  // CLOCK_MONOTONIC
  Amount live, old;      // the sums of all stacks
  std::vector<LiveStack> stacks;
  std::set<SpaceId> ended;  // the spaces of `stacks` whose processes have ended
  bool sampled = false;
  std::string sampling;  // the rate in words; "" = all blocks, or not known
  Losses losses;         // up to now
  uint64_t unseen_frees = 0;
  std::vector<std::string> deaths;  // notes on watched processes that were killed
  bool is_scanned = false;          // at the end of a run with ProbeOptions::reachable
  std::vector<ScanFacts> scanned;   // the processes that lived then, and a command that ended
};

// Nothing is stopped meanwhile. A block that comes or goes while the table is read is either in the
// snapshot with all of its figures, or not at all. If neither ages nor blocks are needed, the
// kernel's sums are taken and the table of blocks is not read.
Snapshot take_snapshot(RunFigures& figures, const SnapshotOptions& options);

// Replaces the sums of a recording by the old blocks of some stacks: their bytes and their number.
void show_live(Recording& recording, std::span<const LiveStack* const> stacks, bool by_count,
               bool sampled);
}  // namespace memflame
