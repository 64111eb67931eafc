// SPDX-License-Identifier: BSD-2-Clause
// Turns overlapping address ranges into disjoint ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <queue>
#include <vector>

namespace memflame {

// [start, end) belongs to entry `owner` of some table.
struct Span {
  uint64_t start = 0, end = 0;
  uint32_t owner = 0;
  friend bool operator==(const Span&, const Span&) = default;
};

// Sweeps over all starts and ends; between two of them the best of the spans that reach there wins.
// `better(a, b)` is a strict order on Span. O(n log n) however they overlap, which matters because
// the watched program writes symbol tables and perf maps.
template <class Better>
std::vector<Span> flatten(std::vector<Span> spans, Better better) {
  std::erase_if(spans, [](const Span& s) { return s.start >= s.end; });
  std::vector<uint64_t> edges;
  edges.reserve(spans.size() * 2);
  for (const Span& s : spans) edges.insert(edges.end(), {s.start, s.end});
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.start < b.start; });

  const auto worse = [&](const Span& a, const Span& b) { return better(b, a); };
  std::priority_queue<Span, std::vector<Span>, decltype(worse)> open(worse);
  std::vector<Span> rows;
  size_t next = 0;
  for (size_t i = 0; i + 1 < edges.size(); ++i) {
    while (next < spans.size() && spans[next].start <= edges[i]) open.push(spans[next++]);
    while (!open.empty() && open.top().end <= edges[i]) open.pop();
    if (open.empty()) continue;
    const uint32_t owner = open.top().owner;
    if (!rows.empty() && rows.back().owner == owner && rows.back().end == edges[i])
      rows.back().end = edges[i + 1];
    else
      rows.push_back({edges[i], edges[i + 1], owner});
  }
  return rows;
}

// The row that holds `address`; nullptr if there is none. `rows` as flatten() returns them.
inline const Span* find_span(const std::vector<Span>& rows, uint64_t address) {
  const auto after = std::upper_bound(rows.begin(), rows.end(), address,
                                      [](uint64_t a, const Span& s) { return a < s.start; });
  if (after == rows.begin() || std::prev(after)->end <= address) return nullptr;
  return &*std::prev(after);
}

}  // namespace memflame
