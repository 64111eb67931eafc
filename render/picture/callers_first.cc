// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/callers_first.h"

#include <utility>
#include <vector>

#include "core/inner_frame.h"
#include "core/merge_stacks.h"
#include "render/picture/blame.h"

namespace memflame {
namespace {

// The stacks of a profile without their first frames, if these are passed over. A stack of nothing
// else, and one where no function follows, keeps the last of them.
class Shortened {
 public:
  Shortened(const Profile& from, Blame blame)
      : from_(from),
        place_(from.stacks.size()),
        is_passed_(from.stacks.size(), false),
        out_(without_stacks(from)) {
    InnerFrames inner(from);
    for (uint32_t i = 1; i < place_.size(); ++i) {
      const auto [caller, frame] = from.stacks[StackId{i}];
      const bool is_first = !caller || is_passed_[caller.index];
      is_passed_[i] = is_first && inner.hides(blame, frame);
      any_ = any_ || is_passed_[i];
      if (is_passed_[i]) continue;
      const bool follows = is_first && caller && is_code(from.frames[frame]);
      place_[i] = out_.stacks.push(follows ? StackId{} : place(caller), frame);
    }
  }

  bool any() const { return any_; }

  // How many functions lost a stack with values.
  size_t functions() const {
    std::vector<bool> lost(from_.frames.size(), false);
    size_t count = 0;
    for (const StackId touched : from_.touched()) {
      StackId stack = touched, next;
      for (; stack; next = stack, stack = from_.stacks[stack].caller) {
        if (!is_passed_[stack.index] || !next || !is_code(from_.frames[from_.stacks[next].frame]))
          continue;
        const FrameId frame = from_.stacks[stack].frame;
        if (!lost[frame.index]) ++count;
        lost[frame.index] = true;
      }
    }
    return count;
  }

  Profile profile() && {
    for (size_t i = 0; i < from_.rows(); ++i)
      out_.add(place(from_.row(i).stack), from_.row(i).values);
    const auto moved = [this](StackId stack) { return place(stack); };
    move_stacks(out_.findings, moved);
    out_.marks = moved_marks(from_.marks, moved);
    return std::move(out_);
  }

 private:
  StackId place(StackId stack) {
    if (stack && is_passed_[stack.index] && !place_[stack.index])
      place_[stack.index] = out_.stacks.push({}, from_.stacks[stack].frame);
    return place_[stack.index];
  }

  const Profile& from_;
  std::vector<StackId> place_;
  std::vector<bool> is_passed_;  // by StackId::index: it, and what comes before it
  Profile out_;
  bool any_ = false;
};

}  // namespace

CallersFirst::CallersFirst(const Profile& given, RenderOptions& options) : given_(given) {
  if (!options.reversed) return;
  const Blame blame = std::exchange(options.blame, Blame::all).value_or(Blame::all);
  if (blame == Blame::all) return;
  Shortened stacks(given, blame);
  if (!stacks.any()) return;
  note_ = blame_note(stacks.functions(), blame, false);
  made_ = std::move(stacks).profile();
}

}  // namespace memflame
