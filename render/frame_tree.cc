#include "render/frame_tree.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "core/difference.h"
#include "render/name_order.h"

namespace memflame {
namespace {

// Frames without their source lines, and the order of their names.
struct PlainFrames {
  std::vector<uint32_t> rank;    // FrameId::index -> place; frames that differ by lines share one
  std::vector<FrameId> of_rank;  // one of them
  bool distinct = true;          // no two share one
};

PlainFrames plain_frames(const Profile& profile) {
  std::vector<std::string_view> names(profile.strings.size());
  for (uint32_t i = 0; i < names.size(); ++i) names[i] = profile.strings[StringId{i}];
  std::vector<uint32_t> place(names.size());
  uint32_t next = 0;
  for (const uint32_t name : name_order(names)) place[name] = next++;

  const auto key = [&](uint32_t i) {
    const Frame& frame = profile.frames[FrameId{i}];
    return std::tuple(place[frame.function.index], place[frame.module.index], frame.kind);
  };
  std::vector<uint32_t> order(profile.frames.size() - 1);
  std::iota(order.begin(), order.end(), 1U);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  PlainFrames out;
  out.rank.resize(profile.frames.size());
  for (size_t i = 0; i < order.size(); ++i) {
    const bool same = i > 0 && key(order[i - 1]) == key(order[i]);
    if (same) out.distinct = false;
    if (!same) out.of_rank.push_back(FrameId{order[i]});
    out.rank[order[i]] = static_cast<uint32_t>(out.of_rank.size() - 1);
  }
  return out;
}

// Nodes in the order of the profile's stacks; as there, a caller's number is smaller than those of
// its callees.
struct Nodes {
  std::vector<uint32_t> caller, rank;
  std::vector<uint32_t> of_stack;
};

Nodes nodes_of(const Profile& profile, const PlainFrames& frames) {
  const size_t stacks = profile.stacks.size();
  Nodes out;
  out.of_stack.resize(stacks);
  out.caller = {0};
  out.rank = {0};
  StackTable merged;
  for (uint32_t i = 1; i < stacks; ++i) {
    const StackNode& stack = profile.stacks[StackId{i}];
    const uint32_t caller = out.of_stack[stack.caller.index];
    const uint32_t rank = frames.rank[stack.frame.index];
    // Where no two frames became one, neither do two stacks.
    const uint32_t node = frames.distinct ? i : merged.push(StackId{caller}, FrameId{rank}).index;
    out.of_stack[i] = node;
    if (node < out.caller.size()) continue;
    out.caller.push_back(caller);
    out.rank.push_back(rank);
  }
  return out;
}

// What all callees of all nodes are, in one list: those of n are [first[n], first[n + 1]).
struct Callees {
  std::vector<size_t> first;
  std::vector<uint32_t> node;
};

// Sorted by distribution, once by the callee's rank and then by the caller, which leaves those of
// one caller in the order of their ranks.
Callees list_callees(const Nodes& nodes, const std::vector<uint8_t>& used, size_t ranks) {
  const size_t size = nodes.caller.size();
  const auto distribute = [&](const std::vector<uint32_t>& key, size_t keys, const auto& from,
                              size_t count) {
    Callees out{std::vector<size_t>(keys + 1, 0), std::vector<uint32_t>(count)};
    for (const uint32_t node : from) ++out.first[key[node] + 1];
    std::partial_sum(out.first.begin(), out.first.end(), out.first.begin());
    std::vector<size_t> next(out.first.begin(), out.first.end() - 1);
    for (const uint32_t node : from) out.node[next[key[node]]++] = node;
    return out;
  };
  std::vector<uint32_t> drawn;
  for (uint32_t node = 1; node < size; ++node)
    if (used[node] != 0) drawn.push_back(node);
  const Callees by_rank = distribute(nodes.rank, ranks, drawn, drawn.size());
  return distribute(nodes.caller, size, by_rank.node, drawn.size());
}

bool add_width(int64_t& sum, int64_t width) { return !__builtin_add_overflow(sum, width, &sum); }

[[noreturn]] void too_much() {
  throw Error("the values of this profile add up to more than 64 bits; they cannot be drawn");
}

}  // namespace

FrameTree frame_tree(const Profile& profile, Neighbours order, const Width& width) {
  const PlainFrames frames = plain_frames(profile);
  const Nodes nodes = nodes_of(profile, frames);
  const size_t size = nodes.caller.size();
  FrameTree out;
  out.columns = profile.types.size();
  std::vector<int64_t> own(size * out.columns, 0);
  std::vector<uint8_t> used(size, 0);
  for (const StackId stack : profile.touched()) {
    const uint32_t node = nodes.of_stack[stack.index];
    const std::span<const int64_t> row = profile.values(stack);
    for (size_t column = 0; column < row.size(); ++column) {
      int64_t& sum = own[node * out.columns + column];
      if (!add_to(sum, row[column], profile.types[column].unit)) too_much();
      if (row[column] != 0) used[node] = 1;
    }
  }
  std::vector<int64_t> wide(order == Neighbours::by_width ? size : 0);
  for (size_t node = 0; node < wide.size(); ++node)
    wide[node] = width(std::span(own).subspan(node * out.columns, out.columns));
  for (size_t node = size - 1; node > 0; --node) {
    used[nodes.caller[node]] |= used[node];
    if (!wide.empty() && !add_width(wide[nodes.caller[node]], wide[node])) too_much();
  }

  Callees callees = list_callees(nodes, used, frames.of_rank.size() + 1);
  if (order == Neighbours::by_width)
    for (size_t node = 0; node < size; ++node)
      std::stable_sort(callees.node.begin() + static_cast<ptrdiff_t>(callees.first[node]),
                       callees.node.begin() + static_cast<ptrdiff_t>(callees.first[node + 1]),
                       [&](uint32_t a, uint32_t b) { return wide[a] > wide[b]; });

  // Stacks may be very deep: the walk keeps its own list of where it is.
  struct Place {
    uint32_t number;  // in `out`
    size_t next, end;
  };
  std::vector<Place> path;
  const auto enter = [&](uint32_t node) {
    const auto number = static_cast<uint32_t>(out.size());
    out.caller.push_back(path.empty() ? 0 : path.back().number);
    out.frame.push_back(node == 0 ? FrameId{} : frames.of_rank[nodes.rank[node]]);
    out.end.push_back(0);
    const auto row = own.begin() + static_cast<ptrdiff_t>(node * out.columns);
    out.own.insert(out.own.end(), row, row + static_cast<ptrdiff_t>(out.columns));
    path.push_back({number, callees.first[node], callees.first[node + 1]});
  };
  out.frame.reserve(callees.node.size() + 1);
  out.caller.reserve(callees.node.size() + 1);
  out.end.reserve(callees.node.size() + 1);
  out.own.reserve((callees.node.size() + 1) * out.columns);
  enter(0);
  while (!path.empty()) {
    Place& at = path.back();
    if (at.next < at.end) {
      enter(callees.node[at.next++]);
    } else {
      out.end[at.number] = static_cast<uint32_t>(out.size());
      path.pop_back();
    }
  }
  return out;
}

std::vector<int64_t> inclusive(const FrameTree& tree, const Profile& profile) {
  std::vector<int64_t> values = tree.own;
  for (size_t node = tree.size() - 1; node > 0; --node)
    for (size_t column = 0; column < tree.columns; ++column)
      if (!add_to(values[tree.caller[node] * tree.columns + column],
                  values[node * tree.columns + column], profile.types[column].unit))
        too_much();
  return values;
}

Width width_of(const Profile& profile, WidthOf of) {
  const bool one = of == WidthOf::shown || of == WidthOf::size;
  const auto states = one ? std::nullopt : difference_of(profile);
  return states ? Width{of, states->before, states->after}
                : Width{of, profile.shown, profile.shown};
}

int64_t Width::operator()(std::span<const int64_t> row) const {
  const auto positive = [](int64_t value) { return std::max<int64_t>(value, 0); };
  const int64_t first = row[before], second = row[after];
  int64_t change = 0;
  switch (of) {
    case WidthOf::before:
      return positive(first);
    case WidthOf::larger:
      return positive(std::max(first, second));
    case WidthOf::both:
      if (__builtin_add_overflow(positive(first), positive(second), &change)) too_much();
      return change;
    case WidthOf::change:
      if (__builtin_sub_overflow(second, first, &change)) too_much();
      break;
    case WidthOf::size:
      change = second;
      break;
    case WidthOf::shown:
    case WidthOf::after:
      return positive(second);
  }
  if (change == INT64_MIN) too_much();
  return change < 0 ? -change : change;
}

}  // namespace memflame
