// SPDX-License-Identifier: BSD-2-Clause
#include "probes/reach/roots.h"

#include <algorithm>

namespace memflame {
namespace {

bool is_page(uint64_t address) { return address % scanned_page == 0; }
uint64_t page_of(uint64_t address) { return address / scanned_page * scanned_page; }

bool is_of_file(const MapsLine& line) { return line.inode != 0; }

// Zero-initialised globals follow the data of their file.
std::vector<AddressRange> data_of_files(std::span<const MapsLine> maps) {
  std::vector<AddressRange> data;
  for (const MapsLine& line : maps) {
    const bool continues = !data.empty() && data.back().to == line.start && line.path.empty();
    if (is_of_file(line))
      data.push_back({line.start, line.end});
    else if (continues)
      data.back().to = line.end;
  }
  return data;
}

bool lies_in(std::span<const AddressRange> sorted, uint64_t address) {
  const auto after = std::upper_bound(
      sorted.begin(), sorted.end(), address,
      [](uint64_t value, const AddressRange& range) { return value < range.from; });
  return after != sorted.begin() && address < (after - 1)->to;
}

// What is not a root, in any order.
std::vector<AddressRange> left_out(const MemoryFacts& facts) {
  std::vector<AddressRange> out = facts.stale;
  const std::vector<AddressRange> data =
      facts.all_blocks_known ? data_of_files(facts.maps) : std::vector<AddressRange>{};
  for (const KnownBlock& block : facts.blocks) {
    const uint64_t end = block.address + std::min(block.size, UINT64_MAX - block.address);
    if (facts.all_blocks_known && !lies_in(data, block.address))
      out.push_back({page_of(block.address),
                     end > UINT64_MAX - scanned_page
                         ? end
                         : page_of(std::max(end, block.address + 1) - 1) + scanned_page});
    else
      out.push_back({block.address, end});
  }
  if (!facts.all_blocks_known) return out;
  out.insert(out.end(), facts.arena_heaps.begin(), facts.arena_heaps.end());
  for (const MapsLine& line : facts.maps)
    if (line.path == "[heap]") out.push_back({line.start, line.end});
  return out;
}

std::vector<AddressRange> merged(std::vector<AddressRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const AddressRange& a, const AddressRange& b) { return a.from < b.from; });
  std::vector<AddressRange> result;
  for (const AddressRange& range : ranges) {
    if (range.from >= range.to) continue;
    if (result.empty() || range.from > result.back().to)
      result.push_back(range);
    else
      result.back().to = std::max(result.back().to, range.to);
  }
  return result;
}

}  // namespace

bool may_hold_pointers(const MapsLine& line) {
  if (!line.readable) return false;
  // Memory of devices: reading it may do something.
  if (line.path.starts_with("/dev/") && !line.path.starts_with("/dev/shm/") &&
      !line.path.starts_with("/dev/zero"))
    return false;
  if (line.path.starts_with("[v")) return false;  // [vvar], [vdso], [vsyscall]: the kernel's
  return line.writable || (!line.shared && !line.executable);
}

std::optional<AddressRange> unused_stack(uint64_t sp, MemoryWords at_fs, uint64_t fs_base,
                                         std::span<const MapsLine> maps) {
  if (sp < red_zone) return std::nullopt;
  for (const MapsLine& line : maps)
    if (line.path == "[stack]" && sp >= line.start && sp < line.end)
      return AddressRange{line.start, std::max(line.start, sp - red_zone)};
  for (size_t i = 0; i + 1 < at_fs.size(); ++i) {
    const uint64_t begin = at_fs[i], size = at_fs[i + 1];
    if (begin == 0 || size == 0 || !is_page(begin) || !is_page(size) || size > UINT64_MAX - begin)
      continue;
    // The struct lies at the upper end of the stack.
    if (begin <= sp && sp < fs_base && fs_base < begin + size)
      return AddressRange{begin, std::max(begin, sp - red_zone)};
  }
  return std::nullopt;
}

std::optional<AddressRange> free_lists(const MemoryPiece& piece) {
  // Most of the 127 bins are empty: both of their links lead to the place two words before. The
  // last one is never used, so it is always empty.
  constexpr size_t bins = 127, least_empty = 32, words_before = 14, first_list = 2;
  std::optional<size_t> last;
  size_t empty = 0;
  for (size_t i = 0; i + 1 < piece.words.size(); ++i) {
    const uint64_t itself = piece.address + i * sizeof(uint64_t) - 2 * sizeof(uint64_t);
    if (piece.words[i] != itself || piece.words[i + 1] != itself) continue;
    if (last && i - *last > 2 * bins) empty = 0;  // another table
    last = i;
    ++empty;
  }
  const size_t span = words_before + 2 * (bins - 1);
  if (!last || empty < least_empty || *last < span) return std::nullopt;
  const uint64_t begin = piece.address + (*last - span) * sizeof(uint64_t);
  return AddressRange{begin + first_list * sizeof(uint64_t),
                      piece.address + (*last + 2) * sizeof(uint64_t)};
}

std::optional<AddressRange> arena_heap(uint64_t address, MemoryWords head) {
  // heap_info: arena, previous heap, size, size that can be written.
  if (address % arena_alignment != 0 || head.size() < 4) return std::nullopt;
  const uint64_t arena = head[0], previous = head[1], size = head[2], writable = head[3];
  const bool begins_arena = arena > address && arena - address < scanned_page && previous == 0;
  const bool continues = previous != 0 && previous % arena_alignment == 0 && arena != 0;
  if (!begins_arena && !continues) return std::nullopt;
  if (size == 0 || !is_page(size) || !is_page(writable) || size > writable ||
      writable > arena_alignment)
    return std::nullopt;
  return AddressRange{address, address + writable};
}

std::vector<AddressRange> root_ranges(const MemoryFacts& facts) {
  const std::vector<AddressRange> out = merged(left_out(facts));
  std::vector<AddressRange> roots;
  auto next = out.begin();
  for (const MapsLine& line : facts.maps) {
    if (!may_hold_pointers(line)) continue;
    uint64_t from = line.start;
    while (next != out.end() && next->to <= from) ++next;
    // The last one may reach into the next mapping, too.
    for (auto each = next; each != out.end() && each->from < line.end; ++each) {
      if (each->from > from) roots.push_back({from, each->from});
      from = std::max(from, each->to);
      next = each;
    }
    if (from < line.end) roots.push_back({from, line.end});
  }
  return roots;
}

}  // namespace memflame
