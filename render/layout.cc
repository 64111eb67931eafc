#include "render/layout.h"

#include <algorithm>
#include <tuple>

namespace memflame {
namespace {

void add_checked(int64_t& sum, int64_t value, Unit unit) {
  if (!add_to(sum, value, unit))
    throw Error("the values of this profile add up to more than 64 bits; they cannot be drawn");
}

// The profile's stacks with source lines left out. Node 0 is the root; as in StackTable, a caller's
// index is smaller than those of its callees.
class Tree {
 public:
  Tree(const Profile& profile, const LayoutOptions& options)
      : profile_(profile),
        options_(options),
        columns_(profile.types.size()),
        unit_(profile.types[profile.shown].unit) {
    leave_out_lines();
    sum_up();
    list_callees();
  }

  Layout place() const {
    Layout out;
    out.columns = columns_;
    out.total = drawn_[0];
    out.stacks = stacks_;
    out.undrawn = undrawn_;
    out.undrawn_stacks = undrawn_stacks_;
    if (out.total == 0) return out;
    // Stacks may be very deep: the walk keeps its own list of what is still to do.
    std::vector<Pending> pending{{0, 0, 0, 0, 0}};
    while (!pending.empty()) {
      const Pending next = pending.back();
      pending.pop_back();
      out.depth = std::max(out.depth, next.depth + 1);
      if (next.begin != next.end) {
        place_merged(next, out);
      } else {
        out.boxes.push_back(
            {next.offset, drawn_[next.node], self_[next.node], next.depth, frame_[next.node], 0});
        const int64_t* sums = &sums_[next.node * columns_];
        out.values.insert(out.values.end(), sums, sums + columns_);
        follow_callees(next, pending);
      }
    }
    return out;
  }

 private:
  // A node, or the callees_[begin, end) of one as a merged box.
  struct Pending {
    uint32_t node;
    uint32_t depth;
    int64_t offset;
    size_t begin, end;
  };

  void leave_out_lines() {
    StackTable nodes;
    FrameTable plain;
    std::vector<StackId> node_of(profile_.stacks.size());
    frame_.push_back({});
    caller_.push_back(0);
    for (uint32_t i = 1; i < profile_.stacks.size(); ++i) {
      const StackNode& stack = profile_.stacks[StackId{i}];
      Frame frame = profile_.frames[stack.frame];
      frame.file = {};
      frame.line = 0;
      const StackId caller = node_of[stack.caller.index];
      node_of[i] = nodes.push(caller, plain.intern(frame));
      if (node_of[i].index < frame_.size()) continue;
      frame_.push_back(stack.frame);
      caller_.push_back(caller.index);
    }
    sums_.resize(frame_.size() * columns_, 0);
    for (const StackId stack : profile_.touched()) {
      int64_t* sum = &sums_[node_of[stack.index].index * columns_];
      add_row(sum, profile_.values(stack).data());
    }
  }

  void sum_up() {
    self_.resize(frame_.size());
    drawn_.resize(frame_.size());
    frames_.resize(frame_.size(), 0);
    for (size_t node = 0; node < frame_.size(); ++node) {
      const int64_t own = sums_[node * columns_ + profile_.shown];
      drawn_[node] = self_[node] = std::max<int64_t>(own, 0);
      add_checked(undrawn_, std::min<int64_t>(own, 0), unit_);
      stacks_ += own > 0 ? 1 : 0;
      undrawn_stacks_ += own < 0 ? 1 : 0;
    }
    for (size_t node = frame_.size() - 1; node > 0; --node) {
      const size_t caller = caller_[node];
      add_checked(drawn_[caller], drawn_[node], unit_);
      add_row(&sums_[caller * columns_], &sums_[node * columns_]);
      if (drawn_[node] > 0) frames_[caller] += ++frames_[node];
    }
  }

  void add_row(int64_t* into, const int64_t* from) const {
    for (size_t column = 0; column < columns_; ++column)
      add_checked(into[column], from[column], profile_.types[column].unit);
  }

  bool narrow(uint32_t node) const {
    return static_cast<double>(drawn_[node]) < options_.min_share * static_cast<double>(drawn_[0]);
  }

  // callees_[first_[n], first_[n + 1]) are the callees of n that have a width, narrow ones last.
  void list_callees() {
    first_.resize(frame_.size() + 1, 0);
    for (uint32_t node = 1; node < frame_.size(); ++node)
      if (drawn_[node] > 0) ++first_[caller_[node] + 1];
    for (size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    callees_.resize(first_.back());
    std::vector<size_t> next(first_.begin(), first_.end() - 1);
    for (uint32_t node = 1; node < frame_.size(); ++node)
      if (drawn_[node] > 0) callees_[next[caller_[node]]++] = node;
    const auto key = [&](uint32_t node) {
      const Frame& frame = profile_.frames[frame_[node]];
      return std::tuple(narrow(node), profile_.strings[frame.function],
                        profile_.strings[frame.module], frame.kind);
    };
    for (size_t node = 0; node < frame_.size(); ++node)
      std::sort(callees_.begin() + static_cast<ptrdiff_t>(first_[node]),
                callees_.begin() + static_cast<ptrdiff_t>(first_[node + 1]),
                [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  }

  void place_merged(const Pending& merged, Layout& out) const {
    Box box;
    box.offset = merged.offset;
    box.depth = merged.depth;
    out.values.resize(out.values.size() + columns_, 0);
    int64_t* sums = &out.values[out.values.size() - columns_];
    for (size_t i = merged.begin; i < merged.end; ++i) {
      const uint32_t node = callees_[i];
      box.total += drawn_[node];
      box.merged += frames_[node];
      add_row(sums, &sums_[node * columns_]);
    }
    box.self = box.total;
    out.boxes.push_back(box);
  }

  // What is pushed last is placed next, so the callees go in from right to left.
  void follow_callees(const Pending& caller, std::vector<Pending>& pending) const {
    const size_t end = first_[caller.node + 1];
    const size_t begin = first_[caller.node];
    const uint32_t depth = caller.depth + 1;
    size_t merged = begin;
    if (depth + 1 < options_.max_depth)
      while (merged < end && !narrow(callees_[merged])) ++merged;
    const size_t old_size = pending.size();
    int64_t offset = caller.offset;
    for (size_t i = begin; i < merged; ++i) {
      pending.push_back({callees_[i], depth, offset, 0, 0});
      offset += drawn_[callees_[i]];
    }
    if (merged < end) pending.push_back({caller.node, depth, offset, merged, end});
    std::reverse(pending.begin() + static_cast<ptrdiff_t>(old_size), pending.end());
  }

  const Profile& profile_;
  const LayoutOptions& options_;
  const size_t columns_;
  const Unit unit_;  // of the shown column
  // By node:
  std::vector<FrameId> frame_;  // one of the frames that differ in their lines only
  std::vector<uint32_t> caller_;
  std::vector<int64_t> sums_;     // rows of columns_ inclusive sums
  std::vector<int64_t> self_;     // own part of the shown column, as far as it is drawn
  std::vector<int64_t> drawn_;    // that with all callees: the width
  std::vector<uint32_t> frames_;  // nodes with a width in the subtree
  std::vector<size_t> first_;
  std::vector<uint32_t> callees_;
  size_t stacks_ = 0, undrawn_stacks_ = 0;
  int64_t undrawn_ = 0;
};

}  // namespace

Layout layout(const Profile& profile, const LayoutOptions& options) {
  if (profile.shown >= profile.types.size())
    throw Error("internal: the profile has no shown column");
  return Tree(profile, options).place();
}

}  // namespace memflame
