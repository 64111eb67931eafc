// SPDX-License-Identifier: BSD-2-Clause
// Functions that call themselves, directly or through others.
#include "collapse/tidy/rebuild.h"
#include "collapse/tidy/tidy.h"

namespace memflame {
namespace {

// Frames of one function, by FrameId::index: lines and inlining make no difference.
std::vector<uint32_t> functions_of(const Profile& profile) {
  FrameTable functions;
  std::vector<uint32_t> result(profile.frames.size());
  for (uint32_t i = 1; i < result.size(); ++i) {
    Frame frame = without_place(profile.frames[FrameId{i}]);
    if (frame.kind == FrameKind::inlined) frame.kind = FrameKind::user;
    result[i] = functions.intern(frame).index;
  }
  return result;
}

Profile collapse_direct(Profile profile) {
  const std::vector<uint32_t> function = functions_of(profile);
  Moved moved;
  moved.place.resize(profile.stacks.size());
  for (uint32_t i = 1; i < moved.place.size(); ++i) {
    const StackNode& node = profile.stacks[StackId{i}];
    const StackId caller = moved.place[node.caller.index];
    const FrameId called_by = profile.stacks[node.caller].frame;
    const bool again = node.caller && function[node.frame.index] == function[called_by.index];
    moved.place[i] = again ? caller : moved.stacks.push(caller, node.frame);
  }
  return with_stacks(std::move(profile), std::move(moved));
}

// The callees of each stack, as linked lists in order of their ids.
struct Callees {
  std::vector<uint32_t> first, next;  // by StackId::index; 0 = none
};

Callees callees_of(const Profile& profile) {
  const size_t size = profile.stacks.size();
  Callees callees{std::vector<uint32_t>(size, 0), std::vector<uint32_t>(size, 0)};
  for (uint32_t i = static_cast<uint32_t>(size) - 1; i > 0; --i) {
    uint32_t& first = callees.first[profile.stacks[StackId{i}].caller.index];
    callees.next[i] = first;
    first = i;
  }
  return callees;
}

// Walks all stacks depth first and keeps the path without its cycles. A call of a function that is
// already on it cuts it back to there; the cut-off part stays in memory, so that going back undoes
// a call in constant time.
class Cycles {
 public:
  explicit Cycles(const Profile& profile)
      : profile_(profile),
        function_(functions_of(profile)),
        depth_of_(profile.frames.size(), 0),
        callees_(callees_of(profile)) {
    moved_.place.resize(profile.stacks.size());
  }

  Moved run() {
    uint32_t next = callees_.first[0];
    while (next != 0 || !calls_.empty()) {
      if (next == 0) {
        next = callees_.next[leave()];
        continue;
      }
      enter(next);
      next = callees_.first[next];
    }
    return std::move(moved_);
  }

 private:
  struct Entry {
    uint32_t function = 0;
    StackId stack;
  };
  struct Call {
    uint32_t node = 0;
    size_t depth = 0;  // before it
    bool pushed = false;
    Entry overwritten{};
    size_t depth_of_function = 0;  // before it
  };

  void enter(uint32_t node) {
    const FrameId frame = profile_.stacks[StackId{node}].frame;
    const uint32_t function = function_[frame.index];
    Call call{.node = node, .depth = depth_};
    const size_t known = depth_of_[function];  // + 1
    if (known != 0 && known <= depth_ && path_[known - 1].function == function) {
      depth_ = known;
    } else {
      const StackId caller = depth_ == 0 ? StackId{} : path_[depth_ - 1].stack;
      if (path_.size() == depth_) path_.emplace_back();
      call.pushed = true;
      call.overwritten = path_[depth_];
      call.depth_of_function = known;
      path_[depth_] = {function, moved_.stacks.push(caller, frame)};
      depth_of_[function] = ++depth_;
    }
    moved_.place[node] = path_[depth_ - 1].stack;
    calls_.push_back(call);
  }

  uint32_t leave() {
    const Call call = calls_.back();
    calls_.pop_back();
    if (call.pushed) {
      depth_of_[path_[call.depth].function] = call.depth_of_function;
      path_[call.depth] = call.overwritten;
    }
    depth_ = call.depth;
    return call.node;
  }

  const Profile& profile_;
  std::vector<uint32_t> function_;
  std::vector<size_t> depth_of_;  // of a function on the path, + 1; may be out of date
  Callees callees_;
  std::vector<Entry> path_;
  size_t depth_ = 0;  // of the path; entries behind it were cut off
  std::vector<Call> calls_;
  Moved moved_;
};

}  // namespace

Profile collapse_recursion(Profile profile, Recursion what) {
  if (what == Recursion::keep) return profile;
  if (what == Recursion::direct) return collapse_direct(std::move(profile));
  Moved moved = Cycles(profile).run();
  return with_stacks(std::move(profile), std::move(moved));
}

}  // namespace memflame
