// SPDX-License-Identifier: BSD-2-Clause
// What the live blocks of a process waste: pages that nobody has touched, what the allocator gave
// beyond what was asked for, and heaps that a few blocks keep from shrinking. The process is not
// stopped: what it does meanwhile may show in the figures of the blocks that it frees.
//
// Cost: about a second for a million blocks, none of which the process pays.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/profile.h"
#include "probes/waste/chunk_slack.h"
#include "probes/waste/first_touch.h"
#include "probes/waste/pins.h"

namespace memflame {

class RecordingRows;
class RunFigures;

// Bytes.
struct Waste {
  int64_t untouched = 0;    // in whole pages that were never touched
  int64_t whole_pages = 0;  // in whole pages: the part of a block of which that can be told
  int64_t slack = 0;        // what the allocator gave beyond what was asked for
  int64_t pinning = 0;      // in blocks that keep memory from going back: see pins.h
  Waste& operator+=(const Waste& other);
};

struct ProcessWaste {
  pid_t pid = 0;
  int64_t live = 0;                    // bytes of its blocks
  int64_t unread_pages = 0;            // bytes of whole pages of which it could not be told
  int64_t unread_slack = 0;            // blocks that were gone, or not glibc's, if slack_known
  bool slack_known = true;             // false: its allocator is not glibc's
  bool pins_known = true;              // false: not all of its blocks are known
  std::string why_not{};               // why nothing is known; "" if it is
  std::map<uint64_t, Waste> stacks{};  // by their keys
  std::vector<PinnedRange> pinned{};   // the largest first
  SpaceId space{};
  std::optional<FirstTouches> touches{};  // if the faults are known
};

// Looks at a process that lives. `blocks` in any order. Unless all are known, it cannot be told
// what a heap has besides, so none of them is said to pin it. `faults`: that have made its pages;
// null if they were not followed.
ProcessWaste waste_of(pid_t pid, std::vector<WasteBlock> blocks, bool all_known,
                      const PageFaults* faults = nullptr);

// The processes of a run that live, by the run's table of live blocks.
std::vector<ProcessWaste> waste_of_run(RunFigures& figures,
                                       std::span<const std::pair<SpaceId, pid_t>> living,
                                       const std::function<bool(SpaceId, pid_t)>& knows_all_blocks);

// Adds the figures of stacks, and notes, to a recording that has waste_types() among its columns,
// and behind them touch_types() if the faults are known.
void add_waste(std::span<const ProcessWaste> processes, RecordingRows& rows);

// One line or several: the sums, and what is not known.
std::vector<std::string> in_words(std::span<const ProcessWaste> processes);

// The columns that have these figures, in the order of Waste's fields.
std::span<const ValueType> waste_types();
// Whether it is the name of one, or of one of touch_types(), which need these.
bool shows_waste(std::string_view value);

}  // namespace memflame
