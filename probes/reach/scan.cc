// SPDX-License-Identifier: BSD-2-Clause
#include "probes/reach/scan.h"

#include <algorithm>

#include "probes/processes/spaces.h"
#include "probes/reach/process_memory.h"
#include "probes/reach/roots.h"
#include "probes/system/procfs.h"

namespace memflame {
namespace {

constexpr uint64_t longest_scan_ns = 10'000'000'000;
// The data of a C library, or of a static program, are smaller.
constexpr uint64_t most_data_bytes = uint64_t{1} << 20;
constexpr size_t heap_info_words = 4;

std::vector<AddressRange> stale_memory(ProcessMemory& memory, std::span<const MapsLine> maps,
                                       std::span<const StoppedThread> threads) {
  std::vector<AddressRange> stale;
  for (const StoppedThread& thread : threads) {
    const MemoryWords at_fs = memory.words_at(thread.fs_base, pthread_bytes / sizeof(uint64_t));
    if (const auto unused = unused_stack(thread.sp, at_fs, thread.fs_base, maps))
      stale.push_back(*unused);
  }
  for (const MapsLine& line : maps) {
    const uint64_t bytes = line.end - line.start;
    if (line.inode == 0 || !line.writable || line.shared || bytes > most_data_bytes) continue;
    const MemoryWords words = memory.words_at(line.start, bytes / sizeof(uint64_t));
    if (const auto lists = free_lists({line.start, words})) stale.push_back(*lists);
  }
  return stale;
}

std::vector<AddressRange> arena_heaps(ProcessMemory& memory, std::span<const MapsLine> maps) {
  std::vector<AddressRange> heaps;
  for (const MapsLine& line : maps) {
    if (line.inode != 0 || !line.writable || line.end - line.start < heap_info_words) continue;
    uint64_t at = (line.start + arena_alignment - 1) / arena_alignment * arena_alignment;
    for (; at < line.end; at += arena_alignment)
      if (const auto heap = arena_heap(at, memory.words_at(at, heap_info_words)))
        heaps.push_back(*heap);
  }
  return heaps;
}

}  // namespace

Reach ProcessScan::of(uint64_t address) const {
  const auto at = std::lower_bound(addresses.begin(), addresses.end(), address);
  if (at == addresses.end() || *at != address || reach.empty()) return Reach::unknown;
  return reach[static_cast<size_t>(at - addresses.begin())];
}

ProcessScan scan_process(pid_t pid, std::span<const StoppedThread> threads,
                         std::vector<KnownBlock> blocks, bool all_blocks_known) {
  ProcessScan scan;
  scan.facts.pid = pid;
  scan.facts.is_exact = all_blocks_known;
  const std::optional<std::vector<MapsLine>> maps = read_maps(pid);
  if (!maps || maps->empty()) {
    scan.facts.why_not = "the process had ended";
    return scan;
  }
  std::sort(blocks.begin(), blocks.end(),
            [](const KnownBlock& a, const KnownBlock& b) { return a.address < b.address; });
  ProcessMemory memory(pid, monotonic_ns() + longest_scan_ns);
  MemoryFacts facts{.maps = *maps,
                    .blocks = blocks,
                    .stale = stale_memory(memory, *maps, threads),
                    .arena_heaps = {},
                    .all_blocks_known = all_blocks_known};
  if (all_blocks_known) facts.arena_heaps = arena_heaps(memory, *maps);
  std::vector<uint64_t> values;
  for (const StoppedThread& thread : threads)
    values.insert(values.end(), thread.registers.begin(), thread.registers.end());
  std::vector<Reach> reach =
      reach_of(blocks, values, root_ranges(facts),
               [&memory](const auto& ranges, const auto& take) { memory.read(ranges, take); });
  scan.facts.bytes_read = memory.bytes_read();
  scan.facts.bytes_unread = memory.bytes_unread();
  if (memory.has_ended()) scan.facts.why_not = "the process ended while it was scanned";
  if (memory.is_late()) scan.facts.why_not = "the scan took longer than 10 s";
  if (!scan.facts.why_not.empty()) return scan;
  for (const KnownBlock& block : blocks) scan.addresses.push_back(block.address);
  scan.reach = std::move(reach);
  return scan;
}

}  // namespace memflame
