// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/frame_tree.h"

#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "render/order/plain_frames.h"
#include "render/order/source_lines.h"
#include "render/picture/time_tree.h"

namespace memflame {
namespace {

// The profile's stacks; those that differ only in source lines are one. As in the profile, a
// caller's number is smaller than its callees'. If all frames differ, nothing is copied.
class Nodes {
 public:
  Nodes(const Profile& profile, const PlainFrames& frames) : profile_(profile), frames_(frames) {
    if (frames.distinct) return;
    of_stack_.resize(profile.stacks.size());
    for (uint32_t i = 1; i < of_stack_.size(); ++i) {
      const StackNode& stack = profile.stacks[StackId{i}];
      of_stack_[i] =
          merged_.push(of_stack_[stack.caller.index], FrameId{frames.rank[stack.frame.index]});
    }
    own_.resize(merged_.size() * profile.types.size(), 0);
    for (const StackId stack : profile.touched()) add(stack);
  }

  size_t size() const { return frames_.distinct ? profile_.stacks.size() : merged_.size(); }
  uint32_t of(StackId stack) const {
    return frames_.distinct ? stack.index : of_stack_[stack.index].index;
  }
  uint32_t caller(uint32_t node) const {
    return (frames_.distinct ? profile_.stacks : merged_)[StackId{node}].caller.index;
  }
  uint32_t rank(uint32_t node) const {
    return frames_.distinct ? frames_.rank[profile_.stacks[StackId{node}].frame.index]
                            : merged_[StackId{node}].frame.index;
  }
  std::span<const int64_t> own(uint32_t node) const {
    const size_t columns = profile_.types.size();
    return frames_.distinct ? profile_.values(StackId{node})
                            : std::span(own_).subspan(node * columns, columns);
  }

 private:
  void add(StackId stack) {
    const std::span<const int64_t> row = profile_.values(stack);
    for (size_t column = 0; column < row.size(); ++column)
      if (!add_to(own_[of_stack_[stack.index].index * row.size() + column], row[column],
                  profile_.types[column].unit))
        sums_too_large();
  }

  const Profile& profile_;
  const PlainFrames& frames_;
  std::vector<StackId> of_stack_;
  StackTable merged_;
  std::vector<int64_t> own_;
};

// The callees of all nodes in one list: those of n are [first[n], first[n + 1]).
struct Callees {
  std::vector<uint32_t> first, node;
};

// Nodes with a value somewhere below, in order of their numbers.
Callees list_callees(const Profile& profile, const Nodes& nodes) {
  const auto size = static_cast<uint32_t>(nodes.size());
  std::vector<bool> used(size, false);
  for (const StackId stack : profile.touched()) {
    const std::span<const int64_t> row = profile.values(stack);
    if (std::any_of(row.begin(), row.end(), [](int64_t value) { return value != 0; }))
      used[nodes.of(stack)] = true;
  }
  Callees out{std::vector<uint32_t>(size + 1, 0), {}};
  for (uint32_t node = size - 1; node > 0; --node) {
    if (!used[node]) continue;
    const uint32_t caller = nodes.caller(node);
    used[caller] = true;
    ++out.first[caller];
  }
  // Now `first` is where each node's callees end. Filling from there moves it to where they begin.
  std::partial_sum(out.first.begin(), out.first.end(), out.first.begin());
  out.node.resize(out.first.back());
  for (uint32_t node = size - 1; node > 0; --node)
    if (used[node]) out.node[--out.first[nodes.caller(node)]] = node;
  return out;
}

// Widths including callees.
std::vector<int64_t> widths_of(const Nodes& nodes, const Width& width) {
  std::vector<int64_t> wide(nodes.size());
  for (uint32_t node = 0; node < wide.size(); ++node) wide[node] = width(nodes.own(node));
  for (auto node = static_cast<uint32_t>(wide.size() - 1); node > 0; --node)
    if (__builtin_add_overflow(wide[nodes.caller(node)], wide[node], &wide[nodes.caller(node)]))
      sums_too_large();
  return wide;
}

// Sorts the callees of each caller by name or, if `wide` is not empty, by width.
void sort_callees(Callees& callees, const Nodes& nodes, const std::vector<int64_t>& wide) {
  struct Item {
    uint64_t narrow = 0;  // the larger, the narrower
    uint32_t rank = 0, node = 0;
  };
  std::vector<Item> items;
  const auto before = [](const Item& a, const Item& b) {
    return a.narrow != b.narrow ? a.narrow < b.narrow : a.rank < b.rank;
  };
  for (size_t caller = 0; caller + 1 < callees.first.size(); ++caller) {
    const auto begin = callees.node.begin() + callees.first[caller];
    const auto end = callees.node.begin() + callees.first[caller + 1];
    if (end - begin < 2) continue;
    items.clear();
    for (auto node = begin; node != end; ++node)
      items.push_back(
          {wide.empty() ? 0 : ~static_cast<uint64_t>(wide[*node]), nodes.rank(*node), *node});
    if (std::is_sorted(items.begin(), items.end(), before)) continue;
    std::sort(items.begin(), items.end(), before);
    std::transform(items.begin(), items.end(), begin, [](const Item& item) { return item.node; });
  }
}

// Inclusive rows of all stacks.
std::vector<int64_t> inclusive_rows(const Profile& profile) {
  const size_t columns = profile.types.size();
  std::vector<int64_t> rows(profile.stacks.size() * columns, 0);
  for (const StackId stack : profile.touched())
    std::ranges::copy(profile.values(stack),
                      std::span(rows).subspan(stack.index * columns, columns).begin());
  for (auto i = static_cast<uint32_t>(profile.stacks.size()); i-- > 1;) {
    const uint32_t caller = profile.stacks[StackId{i}].caller.index;
    for (size_t column = 0; column < columns; ++column)
      if (!add_to(rows[caller * columns + column], rows[i * columns + column],
                  profile.types[column].unit))
        sums_too_large();
  }
  return rows;
}

// number: the place in the tree of each node.
NodeLines lines_of(const Profile& profile, const Nodes& nodes, const std::vector<uint32_t>& number,
                   size_t size) {
  if (!has_lines(profile)) return {};
  LineParts parts;
  const std::vector<int64_t> rows = inclusive_rows(profile);
  const size_t columns = profile.types.size();
  for (uint32_t i = 1; i < profile.stacks.size(); ++i) {
    const uint32_t at = number[nodes.of(StackId{i})];
    const auto row = std::span(rows).subspan(i * columns, columns);
    if (at == 0 || std::ranges::all_of(row, [](int64_t value) { return value == 0; })) continue;
    parts.owner.push_back(at);
    parts.frame.push_back(profile.stacks[StackId{i}].frame);
    parts.row.push_back(i);
  }
  return node_lines(profile, size, parts, rows);
}

// Stacks may be very deep, so the walk keeps a list of its own. `number` gets the place in the tree
// of each node, 0 if it is left out.
FrameTree depth_first(const Nodes& nodes, const PlainFrames& frames, const Callees& callees,
                      size_t columns, std::vector<uint32_t>& number_of) {
  struct Place {
    uint32_t number;  // in the tree
    uint32_t next, end;
  };
  FrameTree out;
  out.columns = columns;
  const size_t size = callees.node.size() + 1;
  out.frame.reserve(size);
  out.caller.reserve(size);
  out.end.resize(size);
  out.own.reserve(size * columns);
  std::vector<Place> path;
  const auto enter = [&](uint32_t node) {
    const auto number = static_cast<uint32_t>(out.frame.size());
    number_of[node] = number;
    out.caller.push_back(path.empty() ? 0 : path.back().number);
    out.frame.push_back(node == 0 ? FrameId{} : frames.of_rank[nodes.rank(node)]);
    const std::span<const int64_t> row = nodes.own(node);
    out.own.insert(out.own.end(), row.begin(), row.end());
    path.push_back({number, callees.first[node], callees.first[node + 1]});
  };
  enter(0);
  while (!path.empty()) {
    Place& at = path.back();
    if (at.next < at.end) {
      enter(callees.node[at.next++]);
    } else {
      out.end[at.number] = static_cast<uint32_t>(out.frame.size());
      path.pop_back();
    }
  }
  return out;
}

}  // namespace

FrameTree frame_tree(const Profile& profile, Neighbours order, const Width& width,
                     LineNodes lines) {
  PlainFrames frames = plain_frames(profile);
  if (order == Neighbours::by_time) return time_tree(profile, frames);
  if (lines == LineNodes::apart) frames.distinct = true;
  const Nodes nodes(profile, frames);
  Callees callees = list_callees(profile, nodes);
  sort_callees(callees, nodes,
               order == Neighbours::by_width ? widths_of(nodes, width) : std::vector<int64_t>{});
  std::vector<uint32_t> number(nodes.size(), 0);
  FrameTree tree = depth_first(nodes, frames, callees, profile.types.size(), number);
  tree.lines = lines_of(profile, nodes, number, tree.size());
  tree.of_stack.resize(profile.stacks.size());
  for (uint32_t i = 1; i < tree.of_stack.size(); ++i)
    tree.of_stack[i] = number[nodes.of(StackId{i})];
  for (const StackMark& mark : profile.marks)
    tree.marked.push_back(tree.of_stack[mark.stack.index]);
  return tree;
}

std::vector<int64_t> inclusive(const FrameTree& tree, const Profile& profile) {
  std::vector<int64_t> values = tree.own;
  for (size_t node = tree.size() - 1; node > 0; --node)
    for (size_t column = 0; column < tree.columns; ++column)
      if (!add_to(values[tree.caller[node] * tree.columns + column],
                  values[node * tree.columns + column], profile.types[column].unit))
        sums_too_large();
  return values;
}

}  // namespace memflame
