// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/code_shares.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/error.h"
#include "render/picture/frame_tree.h"

namespace memflame {
namespace {

class Owners {
 public:
  explicit Owners(const Profile& profile)
      : profile_(profile), known_(profile.frames.size(), not_asked) {}

  // The innermost frame that is neither a note nor the allocator's; if there is none, the innermost
  // outside of notes. None without any.
  FrameId responsible(StackId stack) {
    FrameId innermost;
    for (; stack; stack = profile_.stacks[stack].caller) {
      const FrameId id = profile_.stacks[stack].frame;
      const Frame& frame = profile_.frames[id];
      if (frame.kind == FrameKind::note) continue;
      if (!innermost) innermost = id;
      // A process that calls the allocator has code in between that was not seen.
      if (frame.kind == FrameKind::process) break;
      if (of(id) != Owner::allocator) return id;
    }
    return innermost;
  }

  Owner of(FrameId id) {
    uint8_t& known = known_[id.index];
    if (known == not_asked) known = static_cast<uint8_t>(owner_of(profile_, profile_.frames[id]));
    return static_cast<Owner>(known);
  }

  bool met_allocator(StackId stack, FrameId responsible) {
    for (; stack && profile_.stacks[stack].frame != responsible;
         stack = profile_.stacks[stack].caller)
      if (of(profile_.stacks[stack].frame) == Owner::allocator) return true;
    return false;
  }

 private:
  static constexpr uint8_t not_asked = 255;

  const Profile& profile_;
  std::vector<uint8_t> known_;  // by FrameId::index
};

bool knows_modules(const Profile& profile) {
  for (uint32_t i = 1; i < profile.frames.size(); ++i)
    if (!profile.strings[profile.frames[FrameId{i}].module].empty()) return true;
  return false;
}

}  // namespace

CodeShares code_shares(const Profile& profile, const Width& width) {
  Owners owners(profile);
  CodeShares out{.modules_known = knows_modules(profile)};
  std::vector<int64_t> by_frame(profile.frames.size());
  for (const StackId stack : profile.touched()) {
    const int64_t wide = width(profile.values(stack));
    if (wide == 0) continue;
    const FrameId id = owners.responsible(stack);
    if (!add_to(by_frame[id.index], wide, Unit::count)) sums_too_large();
    out.outside_allocator = out.outside_allocator || owners.met_allocator(stack, id);
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
