// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/blame.h"

#include <algorithm>
#include <numeric>

#include "core/units.h"

namespace memflame {
namespace {

bool is_zero(std::span<const int64_t> row) {
  return std::ranges::all_of(row, [](int64_t value) { return value == 0; });
}

// How many functions have a node that would be drawn, but is hidden.
size_t count_functions(const FrameTree& tree, const std::vector<uint32_t>& to, const Width& width,
                       size_t frames) {
  std::vector<bool> counted(frames, false), drawn(tree.size(), false), is_wide(tree.size(), false);
  size_t count = 0;
  for (auto node = static_cast<uint32_t>(tree.size() - 1); node > 0; --node) {
    is_wide[node] = is_wide[node] || width(tree.row(node)) > 0;
    if (is_wide[node]) is_wide[tree.caller[node]] = true;
    if (to[node] == node || drawn[node]) {
      drawn[tree.caller[node]] = true;
    } else if (is_wide[node] && !counted[tree.frame[node].index]) {
      counted[tree.frame[node].index] = true;
      ++count;
    }
  }
  return count;
}

// How a subset of a tree's nodes is drawn.
struct Kept {
  std::vector<bool> node;
  std::vector<int64_t> own, wide;
};

Kept kept_nodes(const FrameTree& tree, const Profile& profile, const Width& width,
                const std::vector<uint32_t>& to) {
  Kept kept{std::vector<bool>(tree.size(), false), moved(tree.own, tree.columns, to, profile),
            std::vector<int64_t>(tree.size(), 0)};
  // Widths move as they are: those of a difference do not follow from sums.
  for (size_t node = 0; node < tree.size(); ++node)
    kept.wide[to[node]] = checked_sum(kept.wide[to[node]], width(tree.row(node)));
  // A node that had figures may have sums of 0 now, and its box must stay.
  for (size_t node = 0; node < tree.size(); ++node)
    if (!is_zero(tree.row(node))) kept.node[to[node]] = true;
  for (auto node = static_cast<uint32_t>(tree.size() - 1); node > 0; --node)
    if (kept.node[node]) kept.node[tree.caller[node]] = true;
  kept.node[0] = true;
  return kept;
}

// The kept nodes in the order in which they are drawn. Only the order by width depends on figures.
std::vector<uint32_t> order_of(const FrameTree& tree, const Kept& kept, Neighbours order) {
  std::vector<uint32_t> in_order;
  if (order != Neighbours::by_width) {
    for (uint32_t node = 0; node < tree.size(); ++node)
      if (kept.node[node]) in_order.push_back(node);
    return in_order;
  }
  std::vector<int64_t> total = kept.wide;
  std::vector<std::vector<uint32_t>> callees(tree.size());
  for (auto node = static_cast<uint32_t>(tree.size() - 1); node > 0; --node)
    total[tree.caller[node]] = checked_sum(total[tree.caller[node]], total[node]);
  // From the last one on: the narrowest is pushed first and drawn last.
  for (auto node = static_cast<uint32_t>(tree.size() - 1); node > 0; --node)
    if (kept.node[node]) callees[tree.caller[node]].push_back(node);
  std::vector<uint32_t> waiting{0};
  while (!waiting.empty()) {
    const uint32_t node = waiting.back();
    waiting.pop_back();
    in_order.push_back(node);
    std::stable_sort(callees[node].begin(), callees[node].end(),
                     [&](uint32_t a, uint32_t b) { return total[a] < total[b]; });
    waiting.insert(waiting.end(), callees[node].begin(), callees[node].end());
  }
  return in_order;
}

FrameTree subtree(const FrameTree& tree, const Kept& kept, const std::vector<uint32_t>& in_order,
                  const std::vector<uint32_t>& to, const Width& width) {
  FrameTree out;
  out.columns = tree.columns;
  std::vector<uint32_t> place(tree.size(), 0);
  for (const uint32_t node : in_order) {
    place[node] = static_cast<uint32_t>(out.frame.size());
    out.frame.push_back(tree.frame[node]);
    out.caller.push_back(place[tree.caller[node]]);
    const auto row = std::span(kept.own).subspan(node * tree.columns, tree.columns);
    out.own.insert(out.own.end(), row.begin(), row.end());
    out.wide.push_back(kept.wide[node]);
  }
  out.end.resize(out.size());
  std::iota(out.end.begin(), out.end.end(), 1U);
  for (size_t node = out.size() - 1; node > 0; --node)
    out.end[out.caller[node]] = std::max(out.end[out.caller[node]], out.end[node]);
  out.lines = picked(tree.lines, in_order);
  for (const uint32_t node : tree.marked) {
    out.marked.push_back(node == 0 ? 0 : place[to[node]]);
    out.marked_wide.push_back(node == 0 ? 0 : width(tree.row(node)));
  }
  return out;
}

}  // namespace

std::vector<uint32_t> blamed_nodes(const BlameNodes& nodes, const Profile& profile, Blame blame,
                                   InnerFrames& inner) {
  const auto size = static_cast<uint32_t>(nodes.frame.size());
  std::vector<uint32_t> to(size);
  std::iota(to.begin(), to.end(), 0U);
  if (blame == Blame::all) return to;
  // Nodes with figures to move on, and their callers as long as these are passed over, too.
  std::vector<bool> passed(size, false), asked(size, false);
  for (uint32_t node = size; node-- > 1;) {
    const auto row = nodes.own.subspan(node * nodes.columns, nodes.columns);
    if (!asked[node] && is_zero(row)) continue;
    passed[node] = nodes.frame[node] && inner.hides(blame, nodes.frame[node]);
    if (passed[node]) asked[nodes.caller[node]] = true;
  }
  for (uint32_t node = 1; node < size; ++node) {
    const uint32_t caller = nodes.caller[node];
    const bool has_caller =
        caller != 0 && nodes.frame[caller] && is_code(profile.frames[nodes.frame[caller]]);
    if (passed[node] && has_caller) to[node] = to[caller];
  }
  return to;
}

std::vector<int64_t> moved(std::span<const int64_t> own, size_t columns,
                           const std::vector<uint32_t>& to, const Profile& profile) {
  std::vector<int64_t> out(own.size(), 0);
  for (size_t node = 0; node < to.size(); ++node)
    for (size_t column = 0; column < columns; ++column)
      if (!add_to(out[to[node] * columns + column], own[node * columns + column],
                  profile.types[column].unit))
        sums_too_large();
  return out;
}

std::vector<InnerFrame> inner_frames(const BlameNodes& nodes, const Profile& profile) {
  InnerFrames inner(profile);
  // Asks for every frame that is passed over in some picture of the profile.
  blamed_nodes(nodes, profile, Blame::user, inner);
  std::vector<InnerFrame> out(profile.frames.size(), InnerFrame::other);
  bool any = false;
  for (uint32_t i = 1; i < out.size(); ++i) {
    out[i] = inner.known(FrameId{i});
    any = any || out[i] != InnerFrame::other;
  }
  if (!any) out.clear();
  return out;
}

std::vector<bool> allocator_nodes(const FrameTree& tree, const Profile& profile) {
  InnerFrames inner(profile);
  const std::vector<uint32_t> to = blamed_nodes({tree.frame, tree.caller, tree.own, tree.columns},
                                                profile, Blame::caller, inner);
  std::vector<bool> only(tree.size(), false);
  bool any = false;
  for (uint32_t node = 1; node < tree.size(); ++node) any = (only[node] = to[node] != node) || any;
  for (auto node = static_cast<uint32_t>(tree.size() - 1); node > 0; --node)
    if (!only[node]) only[tree.caller[node]] = false;
  if (!any) only.clear();
  return only;
}

size_t hidden_functions(const FrameTree& tree, const Profile& profile,
                        const RenderOptions& options) {
  InnerFrames inner(profile);
  const BlameNodes nodes{tree.frame, tree.caller, tree.own, tree.columns};
  const Blame blame = options.blame.value_or(Blame::all);
  return count_functions(tree, blamed_nodes(nodes, profile, blame, inner),
                         width_of(profile, options.diff_width), profile.frames.size());
}

BlamedTree blamed_tree(const FrameTree& tree, const Profile& profile,
                       const RenderOptions& options) {
  const Blame blame = options.blame.value_or(Blame::all);
  if (blame == Blame::all || tree.size() < 2) return {};
  InnerFrames inner(profile);
  const std::vector<uint32_t> to =
      blamed_nodes({tree.frame, tree.caller, tree.own, tree.columns}, profile, blame, inner);
  BlamedTree out;
  const Width width = width_of(profile, options.diff_width);
  out.functions = count_functions(tree, to, width, profile.frames.size());
  if (out.functions == 0) return {};
  const Kept kept = kept_nodes(tree, profile, width, to);
  out.tree = subtree(tree, kept, order_of(tree, kept, options.order), to, width);
  return out;
}

std::string blame_note(size_t functions, Blame blame, bool can_be_changed) {
  if (functions == 0) return "";
  return (can_be_changed ? "not drawn at first: " : "not drawn: ") +
         with_commas(static_cast<int64_t>(functions)) +
         (functions == 1 ? " function of the allocator" : " functions of the allocator") +
         (blame == Blame::user ? " and of containers" : "") + "; " +
         (functions == 1 ? "its callers have its figures" : "their callers have the figures");
}

}  // namespace memflame
