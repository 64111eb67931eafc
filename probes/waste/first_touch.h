// SPDX-License-Identifier: BSD-2-Clause
// Who touched the pages of live blocks first: page faults, joined with the blocks that lie in their
// pages.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/profile.h"
#include "probes/bpf/shared.h"
#include "probes/system/procfs.h"
#include "probes/waste/chunk_slack.h"
#include "probes/waste/touched_pages.h"

namespace memflame {

class RecordingRows;

// The faults of one space, by the page's address.
using PageFaults = std::unordered_map<uint64_t, bpf::page_faults>;

// Sorts faults by space. A space that began by fork also has the pages that its ancestors had
// touched by then.
class FaultsBySpace {
 public:
  // As Spaces::copied_from().
  using CopiedFrom = std::function<std::pair<SpaceId, uint64_t>(SpaceId)>;
  FaultsBySpace(std::span<const SpaceId> spaces, const CopiedFrom& copied_from);

  void add(const bpf::block_key& page, const bpf::page_faults& faults);
  std::map<SpaceId, PageFaults> take() { return std::move(faults_); }

 private:
  struct Heir {
    SpaceId space;
    uint64_t until_ns = UINT64_MAX;  // of the copy; the space itself: no limit
  };
  std::map<SpaceId, PageFaults> faults_;
  std::unordered_map<uint32_t, std::vector<Heir>> heirs_;  // by the space of the fault
};

// What is known of the page that a byte of a live block lies in.
enum class FirstTouch : uint8_t {
  known,           // a fault since the block was allocated made it
  before,          // it was there when the block was allocated, as memory that is used again
  unattributable,  // it is there, but no fault on it was seen
  never,           // nobody has touched it
  unread,          // whether it is there could not be looked at
  count_
};

// Bytes by what is known of them.
using TouchSums = std::array<int64_t, static_cast<size_t>(FirstTouch::count_)>;

struct FirstTouches {
  TouchSums sums{};           // in all: the bytes of the blocks
  int64_t in_huge_pages = 0;  // of those that are unattributable, as far as the kernel says so
  // By the keys of the stacks that allocated: `known` is 0 here …
  std::map<uint64_t, TouchSums> others{};
  // … and has the stack of the fault behind that of the allocation here.
  std::map<std::pair<uint64_t, uint64_t>, int64_t> known{};
};

// `blocks` and `runs` by address. A page belongs to all blocks in it, to each with its own bytes.
FirstTouches first_touches(std::span<const WasteBlock> blocks, std::span<const PageRun> runs,
                           const PageFaults& faults);
// Looks at the pages of a process that lives.
FirstTouches first_touches(TouchedPages& pages, std::span<const MapsLine> maps,
                           std::span<const WasteBlock> blocks, const PageFaults& faults);

// Adds the figures of a process to a recording, into the columns from `column` on.
void add_touches(const FirstTouches& touches, SpaceId space, size_t column, RecordingRows& rows);

// The sums of processes, as a line.
std::string in_words(std::span<const FirstTouches* const> touches);

// The columns that have these figures.
std::span<const ValueType> touch_types();
bool shows_first_touch(std::string_view value);  // whether it is the name of one

}  // namespace memflame
