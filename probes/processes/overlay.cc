// SPDX-License-Identifier: BSD-2-Clause
#include "probes/processes/overlay.h"

#include <algorithm>
#include <map>

namespace memflame {

std::vector<Mapping> overlay(std::span<const Mapping* const> newest_first) {
  std::map<uint64_t, Mapping> visible;  // by start
  for (const Mapping* mapping : newest_first) {
    uint64_t at = mapping->start;
    const auto add = [&](uint64_t end) {
      if (at >= end) return;
      Mapping part = *mapping;
      part.offset += at - mapping->start;
      part.start = at;
      part.end = end;
      visible.emplace(at, part);
    };
    auto next = visible.upper_bound(at);
    if (next != visible.begin()) at = std::max(at, std::prev(next)->second.end);
    for (; next != visible.end() && next->first < mapping->end; ++next) {
      add(next->first);
      at = std::max(at, next->second.end);
    }
    add(mapping->end);
  }
  std::vector<Mapping> list;
  list.reserve(visible.size());
  for (const auto& [start, mapping] : visible) list.push_back(mapping);
  return list;
}

}  // namespace memflame
