// SPDX-License-Identifier: BSD-2-Clause
#include "probes/waste/first_touch.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "core/units.h"
#include "probes/stacks/rows.h"

namespace memflame {
namespace {

// Ranges with smaller gaps are looked at together.
constexpr uint64_t smallest_gap = 64 * waste_page;
constexpr size_t most_ancestors = 64;
constexpr const char* touched_frame = "[first touched by]";
// In the order of FirstTouch.
constexpr std::array<const char*, static_cast<size_t>(FirstTouch::count_)> other_frames{
    "", "[there before]", "[not attributable]", "[never touched]", "[not looked at]"};

constexpr size_t index_of(FirstTouch touch) { return static_cast<size_t>(touch); }

uint64_t end_of(const WasteBlock& block) {
  return block.address + std::min(block.size, UINT64_MAX - waste_page - block.address);
}

uint64_t waste_page_of(uint64_t address) { return address / waste_page * waste_page; }

class Join {
 public:
  explicit Join(const PageFaults& faults) : faults_(faults) {}

  void add(const WasteBlock& block, std::span<const PageRun> runs) {
    const uint64_t end = end_of(block);
    uint64_t left = block.size;
    for (const PageRun& run : runs) {
      const uint64_t from = std::max(block.address, run.from), to = std::min(end, run.to);
      if (from >= to) continue;
      left -= to - from;
      if (!run.known) {
        add(block.stack, FirstTouch::unread, to - from);
        continue;
      }
      for (uint64_t at = from; at < to;) {
        const uint64_t next = std::min(waste_page_of(at) + waste_page, to);
        add(block, run, waste_page_of(at), next - at);
        at = next;
      }
    }
    add(block.stack, FirstTouch::never, left);
  }

  FirstTouches take() { return std::move(result_); }

 private:
  // A page that is there.
  void add(const WasteBlock& block, const PageRun& run, uint64_t page, uint64_t bytes) {
    const auto found = faults_.find(page);
    if (found == faults_.end()) {
      if (run.is_huge) result_.in_huge_pages += static_cast<int64_t>(bytes);
      return add(block.stack, FirstTouch::unattributable, bytes);
    }
    const bpf::page_faults& faults = found->second;
    if (std::max(faults.first_ns, faults.last_ns) < block.time_ns)
      return add(block.stack, FirstTouch::before, bytes);
    const uint64_t toucher = faults.first_ns >= block.time_ns ? faults.first : faults.last;
    const auto signed_bytes = static_cast<int64_t>(bytes);
    result_.known[{block.stack, toucher}] += signed_bytes;
    result_.sums[index_of(FirstTouch::known)] += signed_bytes;
  }

  void add(uint64_t stack, FirstTouch touch, uint64_t bytes) {
    if (bytes == 0) return;
    const auto signed_bytes = static_cast<int64_t>(bytes);
    result_.others[stack].at(index_of(touch)) += signed_bytes;
    result_.sums.at(index_of(touch)) += signed_bytes;
  }

  const PageFaults& faults_;
  FirstTouches result_;
};

// The pages of all blocks.
std::vector<PageRun> ranges_of(std::span<const WasteBlock> blocks) {
  std::vector<PageRun> ranges;
  for (const WasteBlock& block : blocks) {
    if (block.size == 0) continue;
    const uint64_t from = waste_page_of(block.address);
    const uint64_t to = waste_page_of(end_of(block) + waste_page - 1);
    if (!ranges.empty() && from <= ranges.back().to + smallest_gap)
      ranges.back().to = std::max(ranges.back().to, to);
    else
      ranges.push_back({from, to});
  }
  return ranges;
}

std::string share(const TouchSums& sums, FirstTouch touch) {
  const int64_t all = std::accumulate(sums.begin(), sums.end(), int64_t{0});
  const int64_t part = sums.at(index_of(touch));
  return iec_bytes(part) + " (" + percent(static_cast<double>(part), static_cast<double>(all)) +
         ")";
}

}  // namespace

FaultsBySpace::FaultsBySpace(std::span<const SpaceId> spaces, const CopiedFrom& copied_from) {
  for (const SpaceId space : spaces) {
    faults_[space];
    heirs_[space.index].push_back({space});
    uint64_t until_ns = UINT64_MAX;
    SpaceId ancestor = space;
    for (size_t i = 0; i < most_ancestors; ++i) {
      const auto [parent, time_ns] = copied_from(ancestor);
      if (!parent) break;
      until_ns = std::min(until_ns, time_ns);
      heirs_[parent.index].push_back({space, until_ns});
      ancestor = parent;
    }
  }
}

void FaultsBySpace::add(const bpf::block_key& page, const bpf::page_faults& faults) {
  const auto heirs = heirs_.find(page.space);
  if (heirs == heirs_.end()) return;
  for (const Heir& heir : heirs->second)
    if (heir.space.index == page.space)
      faults_[heir.space].insert_or_assign(page.address, faults);
    else if (faults.first_ns < heir.until_ns)
      faults_[heir.space].try_emplace(page.address,
                                      bpf::page_faults{faults.first_ns, faults.first, 0, 0});
}

FirstTouches first_touches(std::span<const WasteBlock> blocks, std::span<const PageRun> runs,
                           const PageFaults& faults) {
  Join join(faults);
  size_t first = 0;
  for (const WasteBlock& block : blocks) {
    while (first < runs.size() && runs[first].to <= block.address) ++first;
    size_t last = first;
    while (last < runs.size() && runs[last].from < end_of(block)) ++last;
    join.add(block, runs.subspan(first, last - first));
  }
  return join.take();
}

FirstTouches first_touches(TouchedPages& pages, std::span<const MapsLine> maps,
                           std::span<const WasteBlock> blocks, const PageFaults& faults) {
  return first_touches(blocks, touched_runs(pages, maps, ranges_of(blocks)), faults);
}

void add_touches(const FirstTouches& touches, SpaceId space, size_t column, RecordingRows& rows) {
  Recording& recording = rows.recording();
  // In the second column the stack is that of the fault alone, or the category alone.
  const auto add = [&](size_t which, RawStackId stack, int64_t bytes) -> Aggregate& {
    std::vector<int64_t> values(recording.types.size());
    values.at(column + which) = bytes;
    recording.sums.push_back({stack, "", std::move(values)});
    return recording.sums.back();
  };
  for (const auto& [stacks, bytes] : touches.known) {
    const RawStackId toucher = rows.stack(stacks.second);
    Aggregate& joined = add(0, rows.stack(stacks.first), bytes);
    joined.joint = touched_frame;
    joined.above = toucher;
    add(1, toucher, bytes);
  }
  for (const auto& [stack, sums] : touches.others)
    for (size_t i = 0; i < sums.size(); ++i)
      if (sums.at(i) != 0) add(0, rows.stack(stack), sums.at(i)).joint = other_frames.at(i);
  for (size_t i = index_of(FirstTouch::before); i < touches.sums.size(); ++i) {
    if (touches.sums.at(i) == 0) continue;
    RawStack none;
    none.space = space;
    none.note = other_frames.at(i);
    recording.stacks.push_back(std::move(none));
    add(1, RawStackId{static_cast<uint32_t>(recording.stacks.size() - 1)}, touches.sums.at(i));
  }
}

std::string in_words(std::span<const FirstTouches* const> touches) {
  TouchSums sums{};
  int64_t huge = 0;
  for (const FirstTouches* each : touches) {
    for (size_t i = 0; i < sums.size(); ++i) sums.at(i) += each->sums.at(i);
    huge += each->in_huge_pages;
  }
  std::string words = "first touch: of the live bytes, " + share(sums, FirstTouch::known) +
                      " are in pages whose first toucher is known, " +
                      share(sums, FirstTouch::before) + " in pages that were there before, " +
                      share(sums, FirstTouch::never) + " in pages never touched; " +
                      share(sums, FirstTouch::unattributable) + " cannot be attributed";
  if (huge != 0) words += ", " + iec_bytes(huge) + " of it in huge pages";
  if (sums.at(index_of(FirstTouch::unread)) != 0)
    words += "; " + share(sums, FirstTouch::unread) +
             " could not be looked at: memflame may not read the page map, or had no time";
  return words;
}

std::span<const ValueType> touch_types() {
  static const std::array types{ValueType{"first-touch", Unit::bytes},
                                ValueType{"touched-by", Unit::bytes}};
  return types;
}

bool shows_first_touch(std::string_view value) {
  return std::any_of(touch_types().begin(), touch_types().end(),
                     [&](const ValueType& type) { return type.name == value; });
}

}  // namespace memflame
