// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/node_lines.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace memflame {
namespace {

// The rank of frames by file and line, by FrameId::index.
std::vector<uint32_t> line_ranks(const Profile& profile) {
  std::vector<uint32_t> order(profile.frames.size());
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](uint32_t i) {
    const Frame& frame = profile.frames[FrameId{i}];
    return std::tuple(profile.strings[frame.file], frame.line, i);
  };
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  std::vector<uint32_t> ranks(order.size());
  for (uint32_t i = 0; i < order.size(); ++i) ranks[order[i]] = i;
  return ranks;
}

void add_saturated(int64_t& sum, int64_t value) {
  if (__builtin_add_overflow(sum, value, &sum)) sum = value < 0 ? INT64_MIN : INT64_MAX;
}

// Parts by their owners: those of n are part[first[n], first[n + 1]).
struct ByOwner {
  std::vector<uint32_t> first, part;
};

ByOwner by_owner(size_t owners, const std::vector<uint32_t>& owner) {
  ByOwner out{std::vector<uint32_t>(owners + 1, 0), std::vector<uint32_t>(owner.size())};
  for (const uint32_t one : owner) ++out.first[one];
  std::partial_sum(out.first.begin(), out.first.end(), out.first.begin());
  for (auto i = static_cast<uint32_t>(owner.size()); i-- > 0;) out.part[--out.first[owner[i]]] = i;
  return out;
}

}  // namespace

NodeLines node_lines(const Profile& profile, size_t owners, const LineParts& parts,
                     std::span<const int64_t> figures) {
  const std::vector<uint32_t> rank = line_ranks(profile);
  ByOwner sorted = by_owner(owners, parts.owner);
  NodeLines out{.columns = profile.types.size()};
  out.first.reserve(owners + 1);
  for (size_t owner = 0; owner < owners; ++owner) {
    out.first.push_back(static_cast<uint32_t>(out.frame.size()));
    const auto begin = sorted.part.begin() + sorted.first[owner];
    const auto end = sorted.part.begin() + sorted.first[owner + 1];
    std::sort(begin, end, [&](uint32_t a, uint32_t b) {
      return rank[parts.frame[a].index] < rank[parts.frame[b].index];
    });
    for (auto part = begin; part != end; ++part) {
      const FrameId frame = parts.frame[*part];
      const auto row = figures.subspan(parts.row[*part] * out.columns, out.columns);
      if (part == begin || out.frame.back() != frame) {
        out.frame.push_back(frame);
        out.figures.insert(out.figures.end(), row.begin(), row.end());
        continue;
      }
      for (size_t column = 0; column < out.columns; ++column)
        add_saturated(out.figures[out.figures.size() - out.columns + column], row[column]);
    }
  }
  out.first.push_back(static_cast<uint32_t>(out.frame.size()));
  return out;
}

NodeLines function_lines(const Profile& profile, const NodeLines& lines,
                         std::span<const FrameId> frame) {
  if (lines.empty()) return {};
  LineParts parts;
  for (size_t node = 0; node < frame.size(); ++node)
    for (const FrameId line : lines.frames(node)) {
      parts.owner.push_back(frame[node].index);
      parts.row.push_back(static_cast<uint32_t>(parts.frame.size()));
      parts.frame.push_back(line);
    }
  return node_lines(profile, profile.frames.size(), parts, lines.figures);
}

NodeLines picked(const NodeLines& lines, std::span<const uint32_t> nodes) {
  if (lines.empty()) return {};
  NodeLines out{.columns = lines.columns};
  for (const uint32_t node : nodes) {
    out.first.push_back(static_cast<uint32_t>(out.frame.size()));
    if (node == UINT32_MAX) continue;
    for (uint32_t i = lines.first[node]; i < lines.first[node + 1]; ++i) {
      out.frame.push_back(lines.frame[i]);
      out.figures.insert(out.figures.end(), lines.row(i).begin(), lines.row(i).end());
    }
  }
  out.first.push_back(static_cast<uint32_t>(out.frame.size()));
  return out;
}

size_t main_entry(const Profile& profile, const NodeLines& lines, size_t owner, size_t column) {
  size_t found = 0;
  uint64_t most = 0;
  bool any = false;
  const std::span<const FrameId> frames = lines.frames(owner);
  for (size_t i = 0; i < frames.size(); ++i) {
    if (!profile.frames[frames[i]].file) continue;
    const int64_t value = lines.row(lines.first[owner] + i)[column];
    const auto bits = static_cast<uint64_t>(value);
    const uint64_t size = value < 0 ? 0 - bits : bits;
    if (any && size <= most) continue;
    any = true;
    most = size;
    found = i;
  }
  return found;
}

MainLine main_line(const Profile& profile, const NodeLines& lines, size_t owner, size_t column) {
  if (lines.empty()) return {};
  const std::span<const FrameId> frames = lines.frames(owner);
  const auto known = std::ranges::count_if(
      frames, [&](FrameId frame) { return bool{profile.frames[frame].file}; });
  if (known == 0) return {};
  return {frames[main_entry(profile, lines, owner, column)], static_cast<size_t>(known) - 1};
}

}  // namespace memflame
