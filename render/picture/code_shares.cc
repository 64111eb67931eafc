// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/code_shares.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/error.h"
#include "render/picture/blame.h"
#include "render/picture/frame_tree.h"

namespace memflame {
namespace {

class Owners {
 public:
  Owners(const Profile& profile, Blame blame)
      : profile_(profile),
        // Shares are those outside of the allocator, whatever is drawn.
        blame_(blame == Blame::user ? Blame::user : Blame::caller),
        inner_(profile),
        known_(profile.frames.size(), not_asked) {}

  // The stack up to its innermost frame that is neither a note nor passed over; if there is none,
  // up to the innermost outside of notes. None without any.
  StackId responsible(StackId stack) {
    StackId innermost;
    for (; stack; stack = profile_.stacks[stack].caller) {
      const FrameId id = profile_.stacks[stack].frame;
      const Frame& frame = profile_.frames[id];
      if (frame.kind == FrameKind::note) continue;
      if (!innermost) innermost = stack;
      // A process that calls the allocator has code in between that was not seen.
      if (frame.kind == FrameKind::process) break;
      if (!inner_.hides(blame_, id)) return stack;
    }
    return innermost;
  }

  Owner of(FrameId id) {
    uint8_t& known = known_[id.index];
    if (known == not_asked) known = static_cast<uint8_t>(owner_of(profile_, profile_.frames[id]));
    return static_cast<Owner>(known);
  }

  // Whether such a frame was passed over on the way.
  bool met(InnerFrame what, StackId stack, StackId responsible) {
    for (; stack && stack != responsible; stack = profile_.stacks[stack].caller)
      if (inner_.of(profile_.stacks[stack].frame) == what) return true;
    return false;
  }

  // Whether the responsible frame lies on the frame that joins an allocation with a first touch.
  bool is_above(FrameId joint, StackId responsible) const {
    for (; joint && responsible; responsible = profile_.stacks[responsible].caller)
      if (profile_.stacks[responsible].frame == joint) return true;
    return false;
  }

 private:
  static constexpr uint8_t not_asked = 255;

  const Profile& profile_;
  const Blame blame_;
  InnerFrames inner_;
  std::vector<uint8_t> known_;  // by FrameId::index
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

CodeShares code_shares(const Profile& profile, const Width& width, Blame blame) {
  Owners owners(profile, blame);
  const FrameId joint = first_touch(profile);
  CodeShares out{.modules_known = knows_modules(profile)};
  std::vector<int64_t> by_frame(profile.frames.size());
  for (const StackId stack : profile.touched()) {
    const int64_t wide = width(profile.values(stack));
    if (wide == 0) continue;
    const StackId responsible = owners.responsible(stack);
    const FrameId id = responsible ? profile.stacks[responsible].frame : FrameId{};
    if (!add_to(by_frame[id.index], wide, Unit::count)) sums_too_large();
    const auto note = [&](bool& known, InnerFrame what) {
      known = known || owners.met(what, stack, responsible);
    };
    note(out.outside_allocator, InnerFrame::allocator);
    if (blame == Blame::user) note(out.outside_containers, InnerFrame::container);
    out.touched_first = out.touched_first || owners.is_above(joint, responsible);
  }
  std::map<std::pair<Owner, std::string_view>, int64_t> sums;
  for (uint32_t i = 0; i < by_frame.size(); ++i) {
    if (by_frame[i] == 0) continue;
    const Owner owner = i != 0 ? owners.of(FrameId{i}) : Owner::unknown;
    const std::string_view path = owner == Owner::library
                                      ? profile.strings[profile.frames[FrameId{i}].module]
                                      : std::string_view();
    if (!add_to(sums[{owner, path}], by_frame[i], Unit::count)) sums_too_large();
  }
  for (const auto& [code, sum] : sums)
    out.shares.push_back({code.first, std::string(code.second), sum});
  std::stable_sort(out.shares.begin(), out.shares.end(),
                   [](const CodeShare& a, const CodeShare& b) { return a.sum > b.sum; });
  return out;
}

}  // namespace memflame
