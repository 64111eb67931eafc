// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/code_shares.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/error.h"
#include "render/picture/blame.h"
#include "render/picture/code_owners.h"
#include "render/picture/frame_tree.h"

namespace memflame {
namespace {

// What is innermost in a stack, and what was passed over on the way there.
class Responsible {
 public:
  Responsible(const Profile& profile, const Shares& of)
      : profile_(profile),
        reversed_(of.reversed),
        // Shares are those outside of the allocator, whatever is drawn.
        blame_(of.blame == Blame::user ? Blame::user : Blame::caller),
        inner_(profile) {}

  // Finds the innermost frame that is neither a note nor passed over; if there is none, the
  // innermost outside of notes. None without any.
  void find(StackId stack) {
    path_.clear();
    found_ = SIZE_MAX;
    for (; stack; stack = profile_.stacks[stack].caller) {
      path_.push_back(profile_.stacks[stack].frame);
      if (!reversed_ && ends(path_.size() - 1)) break;
    }
    rest_ = stack ? profile_.stacks[stack].caller : stack;
    if (!reversed_) return;
    std::ranges::reverse(path_);
    for (size_t i = 0; i < path_.size() && !ends(i); ++i) {
    }
  }

  FrameId frame() const { return found_ != SIZE_MAX ? path_[found_] : FrameId{}; }

  // Whether such a frame was passed over.
  bool met(InnerFrame what) {
    return std::any_of(path_.begin(), path_.begin() + static_cast<std::ptrdiff_t>(passed()),
                       [&](FrameId id) { return inner_.of(id) == what; });
  }

  // Whether it lies on the frame that joins an allocation with a first touch.
  bool is_above(FrameId joint) const {
    if (!joint || found_ == SIZE_MAX) return false;
    if (std::find(path_.begin() + static_cast<std::ptrdiff_t>(found_), path_.end(), joint) !=
        path_.end())
      return true;
    for (StackId stack = rest_; stack; stack = profile_.stacks[stack].caller)
      if (profile_.stacks[stack].frame == joint) return true;
    return false;
  }

 private:
  const Profile& profile_;
  const bool reversed_;
  const Blame blame_;
  InnerFrames inner_;
  // Whether nobody further out can be responsible.
  bool ends(size_t i) {
    const Frame& frame = profile_.frames[path_[i]];
    if (frame.kind == FrameKind::note) return false;
    const bool is_first = found_ == SIZE_MAX;
    if (is_first) found_ = i;
    // A process that calls the allocator has code in between that was not seen.
    if (frame.kind == FrameKind::process) return true;
    if (inner_.hides(blame_, path_[i])) return false;
    found_ = i;
    return true;
  }

  size_t passed() const { return std::min(found_, path_.size()); }

  std::vector<FrameId> path_;  // innermost first, as far as it was looked at
  StackId rest_;               // where it goes on
  size_t found_ = SIZE_MAX;    // in path_
};

// The frame that probes/waste/first_touch.cc puts between two stacks; none: there is none.
FrameId first_touch(const Profile& profile) {
  for (uint32_t i = 1; i < profile.frames.size(); ++i) {
    const Frame& frame = profile.frames[FrameId{i}];
    if (frame.kind == FrameKind::note && profile.strings[frame.function] == "[first touched by]")
      return FrameId{i};
  }
  return {};
}

bool knows_modules(const Profile& profile) {
  for (uint32_t i = 1; i < profile.frames.size(); ++i)
    if (!profile.strings[profile.frames[FrameId{i}].module].empty()) return true;
  return false;
}

}  // namespace

CodeShares code_shares(const Profile& profile, const Width& width, Shares of) {
  Responsible responsible(profile, of);
  const FrameId joint = first_touch(profile);
  CodeShares out{.modules_known = knows_modules(profile)};
  std::vector<int64_t> by_frame(profile.frames.size());
  for (const StackId stack : profile.touched()) {
    const int64_t wide = width(profile.values(stack));
    if (wide == 0) continue;
    responsible.find(stack);
    if (!add_to(by_frame[responsible.frame().index], wide, Unit::count)) sums_too_large();
    const auto note = [&](bool& known, InnerFrame what) { known = known || responsible.met(what); };
    note(out.outside_allocator, InnerFrame::allocator);
    if (of.blame == Blame::user) note(out.outside_containers, InnerFrame::container);
    out.touched_first = out.touched_first || responsible.is_above(joint);
  }
  const CodeOwners owners(profile);
  std::map<std::tuple<Owner, std::string_view, bool>, int64_t> sums;
  for (uint32_t i = 0; i < by_frame.size(); ++i) {
    if (by_frame[i] == 0) continue;
    const Code code = i != 0 ? owners.of(profile.frames[FrameId{i}]) : Code{};
    if (!add_to(sums[{code.owner, code.part, code.is_package}], by_frame[i], Unit::count))
      sums_too_large();
  }
  for (const auto& [code, sum] : sums) {
    const auto& [owner, part, is_package] = code;
    out.shares.push_back({owner, std::string(part), is_package, sum});
  }
  std::stable_sort(out.shares.begin(), out.shares.end(),
                   [](const CodeShare& a, const CodeShare& b) { return a.sum > b.sum; });
  return out;
}

}  // namespace memflame
