// SPDX-License-Identifier: BSD-2-Clause
#include "probes/waste/pins.h"

#include <algorithm>

namespace memflame {
namespace {

constexpr uint64_t one_mib = uint64_t{1} << 20U;
constexpr uint64_t sparse_heap = 2, sparse_mapping = 20;  // live: less than one part in N

uint64_t end_of(const WasteBlock& block, uint64_t limit) {
  return block.size < limit - block.address ? block.address + block.size : limit;
}

}  // namespace

Pins pins_of(std::span<const MapsLine> maps, std::span<const WasteBlock> blocks) {
  Pins pins{.is_pin = std::vector<bool>(blocks.size())};
  size_t at = 0;
  for (const MapsLine& map : maps) {
    while (at < blocks.size() && blocks[at].address < map.start) ++at;
    const size_t first = at;
    uint64_t live = 0;
    for (; at < blocks.size() && blocks[at].address < map.end; ++at)
      live += end_of(blocks[at], map.end) - blocks[at].address;
    const bool is_heap = map.path == "[heap]";
    const uint64_t bytes = map.end - map.start;
    if (at == first || bytes < one_mib || !map.writable || map.shared ||
        !(is_heap || map.path.empty() || map.path.starts_with("[anon:")))
      continue;
    if (live >= bytes / (is_heap ? sparse_heap : sparse_mapping)) continue;
    PinnedRange range{.name = is_heap ? "the heap" : "a mapping", .bytes = bytes, .live = live};
    const uint64_t last = end_of(blocks[at - 1], map.end);
    for (size_t i = first; i < at; ++i) {
      if (is_heap && end_of(blocks[i], map.end) + one_mib < last) continue;
      pins.is_pin[i] = true;
      ++range.blocks;
      range.block_bytes += end_of(blocks[i], map.end) - blocks[i].address;
    }
    pins.ranges.push_back(std::move(range));
  }
  std::stable_sort(pins.ranges.begin(), pins.ranges.end(),
                   [](const PinnedRange& a, const PinnedRange& b) { return a.bytes > b.bytes; });
  return pins;
}

}  // namespace memflame
