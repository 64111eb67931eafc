#include "render/layout.h"

#include <algorithm>
#include <functional>

namespace memflame {
namespace {

int64_t sum(int64_t a, int64_t b) {
  int64_t out = 0;
  if (__builtin_add_overflow(a, b, &out)) sums_too_large();
  return out;
}

// Boxes of one caller that are merged: where the one for them goes, once all others are placed.
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
  Placing(const FrameTree& tree, const Profile& profile, const LayoutOptions& options)
      : tree_(tree),
        profile_(profile),
        options_(options),
        columns_(tree.columns),
        width_(width_of(profile, options.width)) {
    sum_widths();
    values_ = inclusive(tree, profile);
    share_ = options.min_share * static_cast<double>(drawn_[0]);
    limit();
  }

  Layout place() {
    out_.columns = columns_;
    out_.width = options_.width;
    out_.total = drawn_[0];
    if (out_.total == 0) return std::move(out_);
    open(0, 0);
    for (uint32_t node = 1; node < tree_.size();) {
      while (tree_.end[path_.back().node] <= node) close();
      const auto depth = static_cast<uint32_t>(path_.size());
      if (drawn_[node] == 0) {
        node = tree_.end[node];
      } else if (narrow(node, depth) || depth + 1 >= options_.max_depth) {
        merge(node);
        node = tree_.end[node];
      } else {
        const int64_t offset = path_.back().offset;
        path_.back().offset += drawn_[node];
        open(node++, offset);
      }
    }
    while (!path_.empty()) close();
    return std::move(out_);
  }

 private:
  void sum_widths() {
    const bool signed_width = options_.width == WidthOf::shown;
    drawn_.resize(tree_.size());
    for (size_t node = 0; node < tree_.size(); ++node) {
      drawn_[node] = width_(tree_.row(node));
      if (drawn_[node] > 0) ++out_.stacks;
      const int64_t own = tree_.row(node)[profile_.shown];
      if (!signed_width || own >= 0) continue;
      ++out_.undrawn_stacks;
      out_.undrawn = sum(out_.undrawn, own);
    }
    for (size_t node = tree_.size() - 1; node > 0; --node)
      drawn_[tree_.caller[node]] = sum(drawn_[tree_.caller[node]], drawn_[node]);
  }

  // Asked once for each node that is met, callers before callees.
  bool narrow(uint32_t node, uint32_t depth) {
    if (static_cast<double>(drawn_[node]) < share_ || drawn_[node] < least_) return true;
    if (drawn_[node] > least_ || depth < tie_depth_) return false;
    if (depth > tie_depth_ || ties_ == 0) return true;
    --ties_;
    return false;
  }

  // The smallest width of the max_boxes widest nodes, when there are more of at least the share; of
  // those that are as wide, the outermost have room, and of one depth the first: so a deep stack
  // does not take it from others.
  void limit() {
    std::vector<int64_t> widths;
    for (size_t node = 1; node < tree_.size(); ++node)
      if (drawn_[node] > 0 && static_cast<double>(drawn_[node]) >= share_)
        widths.push_back(drawn_[node]);
    if (widths.size() <= options_.max_boxes) return;
    const auto last = widths.begin() + static_cast<ptrdiff_t>(options_.max_boxes);
    std::nth_element(widths.begin(), last, widths.end(), std::greater<>());
    least_ = *last;
    const auto wider = std::count_if(widths.begin(), last, [&](int64_t w) { return w > least_; });
    ties_ = options_.max_boxes - static_cast<size_t>(wider);
    limit_depth();
  }

  // Where the ties end: those of a smaller depth than tie_depth_ have room, and ties_ of that one.
  void limit_depth() {
    std::vector<uint32_t> depth(tree_.size());
    std::vector<size_t> count;  // of ties, by depth
    for (uint32_t node = 1; node < tree_.size(); ++node) {
      depth[node] = depth[tree_.caller[node]] + 1;
      if (drawn_[node] != least_) continue;
      count.resize(std::max<size_t>(count.size(), depth[node] + 1), 0);
      ++count[depth[node]];
    }
    for (tie_depth_ = 0; count[tie_depth_] <= ties_; ++tie_depth_) ties_ -= count[tie_depth_];
  }

  void open(uint32_t node, int64_t offset) {
    const auto depth = static_cast<uint32_t>(path_.size());
    out_.depth = std::max(out_.depth, depth + 1);
    path_.push_back({node, out_.boxes.size(), offset, 0, 0, {}});
    out_.boxes.push_back(
        {offset, drawn_[node], width_(tree_.row(node)), depth, tree_.frame[node], 0});
    const auto row = values_.begin() + static_cast<ptrdiff_t>(node * columns_);
    out_.values.insert(out_.values.end(), row, row + static_cast<ptrdiff_t>(columns_));
  }

  void merge(uint32_t node) {
    Open& caller = path_.back();
    caller.total += drawn_[node];
    for (uint32_t i = node; i < tree_.end[node]; ++i) caller.merged += drawn_[i] > 0 ? 1U : 0U;
    caller.sums.resize(columns_, 0);
    for (size_t column = 0; column < columns_; ++column)
      if (!add_to(caller.sums[column], values_[node * columns_ + column],
                  profile_.types[column].unit))
        sums_too_large();
  }

  void close() {
    const Open& done = path_.back();
    if (done.merged != 0) {
      const auto depth = static_cast<uint32_t>(path_.size());
      out_.depth = std::max(out_.depth, depth + 1);
      out_.boxes.push_back(
          {done.offset, done.total, done.total, depth, {}, static_cast<uint32_t>(done.merged)});
      out_.values.insert(out_.values.end(), done.sums.begin(), done.sums.end());
    }
    path_.pop_back();
  }

  const FrameTree& tree_;
  const Profile& profile_;
  const LayoutOptions& options_;
  const size_t columns_;
  const Width width_;
  std::vector<int64_t> drawn_;   // width of each node with all it calls
  std::vector<int64_t> values_;  // inclusive sums
  double share_ = 0;             // what is narrower is merged
  int64_t least_ = 0;            // and this
  uint32_t tie_depth_ = 0;       // those that wide have room if they are less deep than this
  size_t ties_ = 0;              // and so many that are as deep
  std::vector<Open> path_;
  Layout out_;
};

}  // namespace

Layout layout(const FrameTree& tree, const Profile& profile, const LayoutOptions& options) {
  return Placing(tree, profile, options).place();
}

Layout layout(const Profile& profile, const LayoutOptions& options) {
  if (profile.shown >= profile.types.size())
    throw Error("internal: the profile has no shown column");
  const Width width = width_of(profile, options.width);
  return layout(frame_tree(profile, options.order, width), profile, options);
}

}  // namespace memflame
