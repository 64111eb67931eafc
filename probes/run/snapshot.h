// SPDX-License-Identifier: BSD-2-Clause
// What is outstanding at one moment of a run that goes on: live blocks, summed by stack.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/recording.h"

namespace memflame {

class Accounting;
class Processes;
class StackLog;
struct LoadedProbe;

struct Amount {
  int64_t bytes = 0, blocks = 0;
  // If blocks are a sample: squares of bytes, and of blocks.
  double bytes_variance = 0, blocks_variance = 0;

  Amount& operator+=(const Amount& other);
};

struct LiveBlock {
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t age_ns = 0;
};

struct LiveStack {
  uint64_t key = 0;
  RawStack stack;
  std::string group;
  Amount live;
  Amount old;                     // of it, in blocks that are old enough
  std::vector<LiveBlock> blocks;  // those, when they were asked for
};

struct SnapshotOptions {
  // Blocks of this age or more are of interest, and those of ended processes at any age.
  uint64_t older_ns = 0;
  bool blocks = false;  // each of them, not only their sums
};

struct Snapshot {
  uint64_t time_ns = 0;  // CLOCK_MONOTONIC
  Amount live, old;      // the sums of all stacks
  std::vector<LiveStack> stacks;
  std::set<SpaceId> ended;  // of those the stacks belong to
  bool sampled = false;
  std::string sampling;  // the rate in words; "" = all blocks, or not known
  Losses losses;         // up to now
  uint64_t unseen_frees = 0;
  std::vector<std::string> deaths;  // notes on watched processes that were killed
};

// What a snapshot is taken from.
struct SnapshotSource {
  const LoadedProbe& probe;
  Accounting& accounting;
  const StackLog& stacks;
  const Processes& processes;
  std::function<void()> catch_up;  // takes the records that BPF programs have sent up to now
};

// Nothing is stopped meanwhile: a block that comes or goes while the table is read is in the
// snapshot or not, with all of its figures. Without ages and blocks, sums of the kernel are taken,
// and the table need not be read.
Snapshot take_snapshot(const SnapshotSource& source, const SnapshotOptions& options);

// Makes the old blocks of some stacks, as bytes and as a number, what a recording is about.
void show_live(Recording& recording, std::span<const LiveStack* const> stacks, bool by_count,
               bool sampled);
}  // namespace memflame
