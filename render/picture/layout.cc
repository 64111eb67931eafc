// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/layout.h"

#include <algorithm>
#include <functional>

namespace memflame {
namespace {

// The source of boxes, depth-first; `end` as in FrameTree.
struct LayoutNodes {
  std::span<const FrameId> frame;
  std::span<const uint32_t> caller, end;
  std::span<const int64_t> drawn;  // widths, callees included
  std::span<const int64_t> sums;   // rows, inclusive
  std::span<const uint32_t>
      merged;  // frames that a merged box stands for, 0: it is a frame; empty: all are
  std::span<const uint32_t> in_tree;  // numbers in the tree; empty: the same
  size_t size() const { return frame.size(); }
};

// A caller whose narrow callees are merged: the place of their box, known once all others are
// placed.
struct Open {
  uint32_t node;
  size_t box;      // of the caller
  int64_t offset;  // where the next callee goes
  size_t merged;   // frames
  int64_t total;
  std::vector<int64_t> sums;
};

class Placing {
 public:
  // `out` has no boxes yet.
  Placing(const LayoutNodes& nodes, const Profile& profile, const LayoutOptions& options,
          Layout out)
      : nodes_(nodes),
        profile_(profile),
        options_(options),
        columns_(out.columns),
        share_(options.min_share * static_cast<double>(out.total)),
        out_(std::move(out)) {
    limit();
  }

  Layout place() {
    if (out_.total == 0) return std::move(out_);
    open(0, 0);
    for (uint32_t node = 1; node < nodes_.size();) {
      while (nodes_.end[path_.back().node] <= node) close();
      const auto depth = static_cast<uint32_t>(path_.size());
      if (nodes_.drawn[node] == 0) {
        node = nodes_.end[node];
      } else if (!is_frame(node) || narrow(node, depth) || depth + 1 >= options_.max_depth) {
        merge(node);
        node = nodes_.end[node];
      } else {
        const int64_t offset = path_.back().offset;
        path_.back().offset += nodes_.drawn[node];
        open(node++, offset);
      }
    }
    while (!path_.empty()) close();
    return std::move(out_);
  }

 private:
  bool is_attached(uint32_t node) const {
    return !options_.attached.empty() && options_.attached[node];
  }
  bool is_frame(uint32_t node) const { return nodes_.merged.empty() || nodes_.merged[node] == 0; }

  // Called once for each node that is met, callers before callees.
  bool narrow(uint32_t node, uint32_t depth) {
    const int64_t width = nodes_.drawn[node];
    if (is_attached(node)) return false;
    if (static_cast<double>(width) < share_ || width < least_) return true;
    if (width > least_ || depth < tie_depth_) return false;
    if (depth > tie_depth_ || ties_ == 0) return true;
    --ties_;
    return false;
  }

  // The smallest width among the max_boxes widest nodes, if more than that reach the share. Among
  // equally wide nodes the outermost get boxes, and at one depth the first ones, so that a deep
  // stack does not take boxes from others.
  void limit() {
    std::vector<int64_t> widths;
    for (uint32_t node = 1; node < nodes_.size(); ++node) {
      const int64_t width = nodes_.drawn[node];
      if (width > 0 && static_cast<double>(width) >= share_ && is_frame(node) && !is_attached(node))
        widths.push_back(width);
    }
    if (widths.size() <= options_.max_boxes) return;
    const auto last = widths.begin() + static_cast<ptrdiff_t>(options_.max_boxes);
    std::nth_element(widths.begin(), last, widths.end(), std::greater<>());
    least_ = *last;
    const auto wider = std::count_if(widths.begin(), last, [&](int64_t w) { return w > least_; });
    ties_ = options_.max_boxes - static_cast<size_t>(wider);
    limit_depth();
  }

  // Decides between equally wide nodes: those less deep than tie_depth_ get boxes, and
  // ties_ of those at that depth.
  void limit_depth() {
    std::vector<uint32_t> depth(nodes_.size());
    std::vector<size_t> count;  // of ties, by depth
    for (uint32_t node = 1; node < nodes_.size(); ++node) {
      depth[node] = depth[nodes_.caller[node]] + 1;
      if (nodes_.drawn[node] != least_ || !is_frame(node) || is_attached(node)) continue;
      count.resize(std::max<size_t>(count.size(), depth[node] + 1), 0);
      ++count[depth[node]];
    }
    for (tie_depth_ = 0; count[tie_depth_] <= ties_; ++tie_depth_) ties_ -= count[tie_depth_];
  }

  void open(uint32_t node, int64_t offset) {
    const auto depth = static_cast<uint32_t>(path_.size());
    out_.depth = std::max(out_.depth, depth + 1);
    path_.push_back({node, out_.boxes.size(), offset, 0, 0, {}});
    out_.boxes.push_back({offset, nodes_.drawn[node], self(node), depth, nodes_.frame[node], 0,
                          nodes_.in_tree.empty() ? node : nodes_.in_tree[node]});
    const std::span<const int64_t> row = nodes_.sums.subspan(node * columns_, columns_);
    out_.values.insert(out_.values.end(), row.begin(), row.end());
  }

  // The width that its callees leave.
  int64_t self(uint32_t node) const {
    int64_t rest = nodes_.drawn[node];
    for (uint32_t callee = node + 1; callee < nodes_.end[node]; callee = nodes_.end[callee])
      rest -= nodes_.drawn[callee];
    return rest;
  }

  void merge(uint32_t node) {
    Open& caller = path_.back();
    caller.total += nodes_.drawn[node];
    for (uint32_t i = node; i < nodes_.end[node]; ++i)
      if (nodes_.drawn[i] > 0) caller.merged += is_frame(i) ? 1 : nodes_.merged[i];
    caller.sums.resize(columns_, 0);
    for (size_t column = 0; column < columns_; ++column)
      if (!add_to(caller.sums[column], nodes_.sums[node * columns_ + column],
                  profile_.types[column].unit))
        sums_too_large();
  }

  void close() {
    const Open& done = path_.back();
    if (done.merged != 0) {
      const auto depth = static_cast<uint32_t>(path_.size());
      out_.depth = std::max(out_.depth, depth + 1);
      out_.boxes.push_back({done.offset,
                            done.total,
                            done.total,
                            depth,
                            {},
                            static_cast<uint32_t>(done.merged),
                            UINT32_MAX});
      out_.values.insert(out_.values.end(), done.sums.begin(), done.sums.end());
    }
    path_.pop_back();
  }

  const LayoutNodes nodes_;
  const Profile& profile_;
  const LayoutOptions& options_;
  const size_t columns_;
  const double share_;      // narrower ones are merged
  int64_t least_ = 0;       // and those narrower than this
  uint32_t tie_depth_ = 0;  // of nodes that wide, those less deep get boxes
  size_t ties_ = 0;         // and this many at that depth
  std::vector<Open> path_;
  Layout out_;
};

// Widths of all nodes with their callees; also sets the totals and counts in `out`.
std::vector<int64_t> widths_of(const FrameTree& tree, const Profile& profile, const Width& width,
                               Layout& out) {
  const bool signed_width = width.of == WidthOf::shown;
  std::vector<int64_t> drawn(tree.size());
  for (size_t node = 0; node < tree.size(); ++node) {
    drawn[node] = tree.wide.empty() ? width(tree.row(node)) : tree.wide[node];
    if (drawn[node] > 0) ++out.stacks;
    const int64_t own = tree.row(node)[profile.shown];
    if (!signed_width || own >= 0) continue;
    ++out.undrawn_stacks;
    out.undrawn = checked_sum(out.undrawn, own);
  }
  for (size_t node = tree.size() - 1; node > 0; --node)
    drawn[tree.caller[node]] = checked_sum(drawn[tree.caller[node]], drawn[node]);
  out.total = drawn[0];
  return drawn;
}

}  // namespace

Layout layout(const FrameTree& tree, const Profile& profile, const LayoutOptions& options) {
  Layout out;
  out.columns = tree.columns;
  out.width = options.width;
  const std::vector<int64_t> drawn =
      widths_of(tree, profile, width_of(profile, options.width), out);
  const std::vector<int64_t> sums = inclusive(tree, profile);
  const LayoutNodes nodes{tree.frame, tree.caller, tree.end, drawn, sums, {}, {}};
  return Placing(nodes, profile, options, std::move(out)).place();
}

std::vector<uint32_t> callers_of(const std::vector<Box>& boxes) {
  std::vector<uint32_t> callers(boxes.size(), 0), path;
  for (uint32_t i = 0; i < boxes.size(); ++i) {
    path.resize(boxes[i].depth);
    if (!path.empty()) callers[i] = path.back();
    path.push_back(i);
  }
  return callers;
}

Layout with_fewer_boxes(const Layout& layout, const Profile& profile,
                        const LayoutOptions& options) {
  const size_t size = layout.boxes.size();
  const std::vector<uint32_t> caller = callers_of(layout.boxes);
  std::vector<FrameId> frame(size);
  std::vector<uint32_t> end(size), merged(size), node(size);
  std::vector<int64_t> drawn(size);
  for (auto i = static_cast<uint32_t>(size); i-- > 0;) {
    const Box& box = layout.boxes[i];
    end[i] = std::max(end[i], i + 1);
    end[caller[i]] = std::max(end[caller[i]], end[i]);
    frame[i] = box.frame;
    merged[i] = box.merged;
    node[i] = box.node;
    drawn[i] = box.total;
  }
  Layout out = layout;
  out.boxes.clear();
  out.values.clear();
  out.depth = 0;
  return Placing({frame, caller, end, drawn, layout.values, merged, node}, profile, options,
                 std::move(out))
      .place();
}

Layout layout(const Profile& profile, const LayoutOptions& options) {
  if (profile.shown >= profile.types.size())
    throw Error("internal: the profile has no shown column");
  const Width width = width_of(profile, options.width);
  return layout(frame_tree(profile, options.order, width), profile, options);
}

}  // namespace memflame
