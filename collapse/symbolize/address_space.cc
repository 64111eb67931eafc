// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/address_space.h"

#include <algorithm>

namespace memflame {

MappingIndex::MappingIndex(const std::vector<Mapping>& mappings) : mappings_(mappings) {
  for (const Mapping& m : mappings)
    if (m.start < m.end) edges_.insert(edges_.end(), {m.start, m.end});
  std::sort(edges_.begin(), edges_.end());
  edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
  nodes_.resize(2 * edges_.size());
  const auto edge = [&](uint64_t address) {
    return static_cast<size_t>(std::lower_bound(edges_.begin(), edges_.end(), address) -
                               edges_.begin());
  };
  for (uint32_t i = 0; i < mappings.size(); ++i) {
    const Mapping& m = mappings[i];
    if (m.start < m.end) add(edge(m.start), edge(m.end), {m.from_ns, m.until_ns, i});
  }
  // If two began at the same time, the one noted later counts.
  const auto newer = [](const Span& a, const Span& b) {
    return a.start != b.start ? a.start > b.start : a.owner > b.owner;
  };
  for (std::vector<Span>& node : nodes_) node = flatten(std::move(node), newer);
}

// Adds a mapping to the fewest nodes that make up the leaves [first, last).
void MappingIndex::add(size_t first, size_t last, Span times) {
  for (first += edges_.size(), last += edges_.size(); first < last; first /= 2, last /= 2) {
    if (first % 2 != 0) nodes_[first++].push_back(times);
    if (last % 2 != 0) nodes_[--last].push_back(times);
  }
}

const Mapping* MappingIndex::find(uint64_t address, uint64_t time_ns) const {
  const auto after = std::upper_bound(edges_.begin(), edges_.end(), address);
  if (after == edges_.begin() || after == edges_.end()) return nullptr;
  const Mapping* newest = nullptr;
  size_t node = edges_.size() + static_cast<size_t>(after - edges_.begin()) - 1;
  for (; node != 0; node /= 2) {
    const Span* times = find_span(nodes_[node], time_ns);
    if (times == nullptr) continue;
    const Mapping* m = &mappings_[times->owner];
    if (newest == nullptr || m->from_ns > newest->from_ns ||
        (m->from_ns == newest->from_ns && m > newest))
      newest = m;
  }
  return newest;
}

AddressSpaces::AddressSpaces(const Paged<Space>& spaces)
    : spaces_(spaces), mappings_(spaces.size()) {}

Place AddressSpaces::find(SpaceId space, uint64_t address, uint64_t time_ns) {
  for (int i = 0; i < max_ancestors && space && space.index < spaces_.size(); ++i) {
    std::optional<MappingIndex>& mappings = mappings_[space.index];
    if (!mappings) mappings.emplace(spaces_[space.index].mappings);
    const Mapping* mapping = mappings->find(address, time_ns);
    if (mapping != nullptr) return {mapping, space};
    time_ns = spaces_[space.index].from_ns;
    space = spaces_[space.index].forked_from;
  }
  return {};
}

}  // namespace memflame
