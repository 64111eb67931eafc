// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/time_tree.h"

#include <algorithm>

#include "core/error.h"
#include "render/order/source_lines.h"

namespace memflame {
namespace {

class TimeTree {
 public:
  TimeTree(const Profile& profile, const PlainFrames& frames)
      : profile_(profile), frames_(frames), depth_(profile.stacks.size(), 0) {
    for (uint32_t i = 1; i < depth_.size(); ++i)
      depth_[i] = depth_[profile.stacks[StackId{i}].caller.index] + 1;
    out_.columns = profile.types.size();
    with_lines_ = has_lines(profile);
    so_far_.resize(out_.columns, 0);
    open({}, {}, 0);
  }

  FrameTree run() {
    for (size_t i = 0; i < profile_.rows(); ++i) {
      const auto [stack, values] = profile_.row(i);
      if (std::all_of(values.begin(), values.end(), [](int64_t value) { return value == 0; }))
        continue;
      go_to(stack);
      add(path_.back().node, values);
    }
    close(0);
    if (with_lines_) out_.lines = node_lines(profile_, out_.size(), parts_, figures_);
    return std::move(out_);
  }

 private:
  // The open frames, the root first.
  struct Place {
    uint32_t node;
    StackId stack;
    uint32_t rank;
    std::vector<uint64_t> begin{};  // so_far_ when this stack became the node's; only with lines
  };

  // A stack names its whole path, so the open part is found from the leaf on.
  void go_to(StackId stack) {
    waiting_.clear();
    for (; depth_[stack.index] >= path_.size() || path_[depth_[stack.index]].stack != stack;
         stack = profile_.stacks[stack].caller)
      waiting_.push_back(stack);
    size_t kept = depth_[stack.index] + 1;
    // Frames that differ only in lines stay one.
    for (; !waiting_.empty() && kept < path_.size() && path_[kept].rank == rank(waiting_.back());
         ++kept, waiting_.pop_back()) {
      note_line(path_[kept]);
      path_[kept].stack = waiting_.back();
    }
    close(kept);
    for (; !waiting_.empty(); waiting_.pop_back()) {
      const uint32_t at = rank(waiting_.back());
      open(waiting_.back(), frames_.of_rank[at], at);
    }
  }

  uint32_t rank(StackId stack) const { return frames_.rank[profile_.stacks[stack].frame.index]; }

  void open(StackId stack, FrameId frame, uint32_t rank) {
    const auto node = next_index(out_.size());
    out_.caller.push_back(path_.empty() ? 0 : path_.back().node);
    out_.frame.push_back(frame);
    out_.end.push_back(0);
    out_.own.resize(out_.own.size() + out_.columns, 0);
    path_.push_back({node, stack, rank});
    if (with_lines_) path_.back().begin = so_far_;
  }

  void close(size_t kept) {
    for (; path_.size() > kept; path_.pop_back()) {
      out_.end[path_.back().node] = static_cast<uint32_t>(out_.size());
      note_line(path_.back());
    }
  }

  // The values since a node got its stack belong to that stack's line.
  void note_line(Place& place) {
    if (!with_lines_ || !place.stack) return;
    parts_.owner.push_back(place.node);
    parts_.row.push_back(static_cast<uint32_t>(parts_.frame.size()));
    parts_.frame.push_back(profile_.stacks[place.stack].frame);
    for (size_t column = 0; column < out_.columns; ++column)
      figures_.push_back(static_cast<int64_t>(so_far_[column] - place.begin[column]));
    place.begin = so_far_;
  }

  void add(uint32_t node, std::span<const int64_t> values) {
    for (size_t column = 0; column < values.size(); ++column) {
      so_far_[column] += static_cast<uint64_t>(values[column]);
      if (!add_to(out_.own[node * out_.columns + column], values[column],
                  profile_.types[column].unit))
        sums_too_large();
    }
  }

  const Profile& profile_;
  const PlainFrames& frames_;
  std::vector<uint32_t> depth_;  // depth in frames, by StackId::index
  std::vector<Place> path_;
  std::vector<StackId> waiting_;  // to be opened, the last one first
  FrameTree out_;
  bool with_lines_ = false;
  std::vector<uint64_t> so_far_;  // sums of the rows, modulo 2^64
  LineParts parts_;
  std::vector<int64_t> figures_;
};

}  // namespace

FrameTree time_tree(const Profile& profile, const PlainFrames& frames) {
  if (!profile.in_order())
    throw Error(
        "the order of the stacks in time is not known: a flame chart needs folded text in the "
        "order of events, perf script's output or a file of speedscope's",
        ExitCode::usage);
  return TimeTree(profile, frames).run();
}

}  // namespace memflame
