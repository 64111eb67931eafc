// SPDX-License-Identifier: BSD-2-Clause
// What a process had at an address, at a given time.
#pragma once

#include <optional>
#include <vector>

#include "collapse/symbolize/flatten.h"
#include "core/recording.h"

namespace memflame {

// How many generations of forks are followed. Shells that never exec reach a few; a recording that
// was tampered with may go in circles.
inline constexpr int max_ancestors = 256;

struct Place {
  const Mapping* mapping = nullptr;  // nullptr: in no executable mapping
  SpaceId space;                     // whose mapping it is: the process's own or an ancestor's
};

// The mappings of one space: rectangles of addresses and times. Lookup takes O(log^2 n) however
// many overlap: programs map and unmap at one address as often as they like.
class MappingIndex {
 public:
  explicit MappingIndex(const std::vector<Mapping>& mappings);

  // The newest one over `address` at `time_ns`; nullptr if there was none.
  const Mapping* find(uint64_t address, uint64_t time_ns) const;

 private:
  void add(size_t first, size_t last, Span times);

  const std::vector<Mapping>& mappings_;
  std::vector<uint64_t> edges_;  // of addresses: where mappings start and end, sorted
  // A tree over the intervals between the edges: node 1 is its root, the leaves come last. Each
  // node has the mappings that cover it but not all of its parent: by times, the newest on top.
  std::vector<std::vector<Span>> nodes_;
};

class AddressSpaces {
 public:
  // `spaces` must outlive this and must not move.
  explicit AddressSpaces(const Paged<Space>& spaces);

  // The newest mapping over `address` at `time_ns`; if the space has none, that of the space it was
  // forked from, as of the fork.
  Place find(SpaceId space, uint64_t address, uint64_t time_ns);

 private:
  const Paged<Space>& spaces_;
  std::vector<std::optional<MappingIndex>> mappings_;  // built on first use
};

}  // namespace memflame
