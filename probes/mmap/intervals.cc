// SPDX-License-Identifier: BSD-2-Clause
#include "probes/mmap/intervals.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace memflame {

void Intervals::split(uint64_t address) {
  auto after = parts_.upper_bound(address);
  if (after == parts_.begin()) return;
  auto& [start, part] = *std::prev(after);
  if (start == address || part.end <= address) return;
  Part upper = part;
  part.end = address;
  parts_.emplace_hint(after, address, upper);
}

void Intervals::unmap(uint64_t start, uint64_t end) {
  if (start >= end) return;
  split(start);
  split(end);
  const auto first = parts_.lower_bound(start);
  const auto last = parts_.lower_bound(end);
  for (auto part = first; part != last; ++part)
    if (part->second.owner == before_start) released_older_ += part->second.end - part->first;
  parts_.erase(first, last);
}

void Intervals::map(uint64_t start, uint64_t end, uint64_t owner, MapKind kind,
                    MapKind accessible) {
  if (start >= end) return;
  unmap(start, end);
  parts_.emplace(start, Part{end, owner, kind, accessible});
}

void Intervals::remap(uint64_t from, uint64_t old_size, uint64_t to, uint64_t new_size,
                      uint64_t owner, bool keep) {
  MapKind kind = MapKind::anon;
  MapKind accessible = MapKind::anon;
  if (auto at = parts_.upper_bound(from);
      at != parts_.begin() && std::prev(at)->second.end > from) {
    kind = std::prev(at)->second.kind;  // an old size of 0 duplicates a shared mapping
    accessible = std::prev(at)->second.accessible;
  }
  split(from);
  split(from + old_size);
  std::vector<std::pair<uint64_t, Part>> moved(parts_.lower_bound(from),
                                               parts_.lower_bound(from + old_size));
  // Moving is not releasing: older memory that only changes its place stays older memory.
  const uint64_t released = released_older_;
  if (keep) {
    // The old range stays mapped, empty; the kernel charges it anew, so this call owns it.
    for (const auto& [start, part] : moved) map(start, part.end, owner, part.kind, part.accessible);
  } else {
    unmap(from, from + old_size);
  }
  released_older_ = released;
  unmap(to, to + new_size);
  uint64_t end = to;
  for (const auto& [start, part] : moved) {
    kind = part.kind;
    accessible = part.accessible;
    const uint64_t at = to + (start - from);
    const uint64_t part_end = std::min(to + (part.end - from), to + new_size);
    if (at >= part_end) {
      if (part.owner == before_start && !keep) released_older_ += part.end - start;
      continue;
    }
    if (part.owner == before_start && !keep) released_older_ += part.end - start - (part_end - at);
    parts_.insert_or_assign(at, Part{part_end, part.owner, part.kind, part.accessible});
    end = part_end;
  }
  if (new_size > old_size && end < to + new_size)
    map(std::max(end, to + old_size), to + new_size, owner, kind, accessible);
}

void Intervals::protect(uint64_t start, uint64_t end, bool accessible, uint64_t owner) {
  split(start);
  split(end);
  for (auto part = parts_.lower_bound(start); part != parts_.end() && part->first < end; ++part) {
    Part& p = part->second;
    if (accessible && p.kind == MapKind::none) {
      p.kind = p.accessible;
      // What was mapped before the start stays out of the figures: only its protection changed.
      if (p.owner != before_start) p.owner = owner;
    } else if (!accessible) {
      p.kind = MapKind::none;
    }
  }
}

MapKind Intervals::kind_at(uint64_t address) const {
  const auto after = parts_.upper_bound(address);
  if (after == parts_.begin() || std::prev(after)->second.end <= address) return MapKind::anon;
  return std::prev(after)->second.kind;
}

Intervals Intervals::inherited() const {
  Intervals copy;
  copy.parts_ = parts_;
  for (auto& [start, part] : copy.parts_) part.owner = before_start;
  return copy;
}

void Intervals::for_each(const std::function<void(uint64_t, uint64_t, const Part&)>& visit) const {
  for (const auto& [start, part] : parts_) visit(start, part.end, part);
}

}  // namespace memflame
