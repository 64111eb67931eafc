// SPDX-License-Identifier: BSD-2-Clause
// A run in progress, as its observers see it.
#pragma once

#include <span>

#include "core/recording.h"
#include "probes/run/snapshot.h"

namespace memflame {

class LiveRun {
 public:
  LiveRun() = default;
  LiveRun(const LiveRun&) = delete;
  LiveRun& operator=(const LiveRun&) = delete;
  virtual ~LiveRun() = default;

  // What is outstanding now. Only for probes that follow blocks.
  virtual Snapshot snapshot(const SnapshotOptions& options) = 0;
  // Some stacks of a snapshot as a recording, as if the run had ended then: see show_live().
  virtual Recording recording_of(std::span<const LiveStack* const> stacks, bool by_count) = 0;
  // What was seen so far: without the figures of the OS, and without notes.
  virtual Recording so_far() = 0;
};

}  // namespace memflame
