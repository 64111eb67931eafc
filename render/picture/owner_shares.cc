// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/owner_shares.h"

#include <vector>

#include "core/error.h"
#include "render/picture/frame_tree.h"

namespace memflame {
namespace {

class Owners {
 public:
  explicit Owners(const Profile& profile)
      : profile_(profile), known_(profile.frames.size(), not_asked) {}

  // The owner of the innermost frame that is not a note; with `outside`, of the innermost one that
  // is not an allocator's either.
  Owner innermost(StackId stack, bool outside) {
    for (; stack; stack = profile_.stacks[stack].caller) {
      const FrameId id = profile_.stacks[stack].frame;
      if (profile_.frames[id].kind == FrameKind::note) continue;
      const Owner owner = of(id);
      if (!outside || owner != Owner::allocator) return owner;
    }
    return Owner::unknown;
  }

 private:
  static constexpr uint8_t not_asked = 255;

  Owner of(FrameId id) {
    uint8_t& known = known_[id.index];
    if (known == not_asked) known = static_cast<uint8_t>(owner_of(profile_, profile_.frames[id]));
    return static_cast<Owner>(known);
  }

  const Profile& profile_;
  std::vector<uint8_t> known_;  // by FrameId::index
};

}  // namespace

OwnerShares owner_shares(const Profile& profile, const Width& width) {
  Owners owners(profile);
  OwnerShares out;
  for (uint32_t i = 1; i < profile.frames.size() && !out.modules_known; ++i)
    out.modules_known = !profile.strings[profile.frames[FrameId{i}].module].empty();
  const auto sum_up = [&] {
    out.sum = {};
    for (const StackId stack : profile.touched()) {
      const int64_t wide = width(profile.values(stack));
      if (wide == 0) continue;
      const Owner owner = owners.innermost(stack, out.outside_allocator);
      if (!add_to(out.sum[static_cast<size_t>(owner)], wide, Unit::count)) sums_too_large();
    }
  };
  sum_up();
  // Lost values have no owner and tell nothing about stacks.
  bool others = false;
  for (size_t i = 0; i < owner_count; ++i) {
    const auto owner = static_cast<Owner>(i);
    others = others || (owner != Owner::allocator && owner != Owner::unknown && out.sum[i] != 0);
  }
  out.outside_allocator = !others && out.sum[static_cast<size_t>(Owner::allocator)] != 0;
  if (out.outside_allocator) sum_up();
  return out;
}

}  // namespace memflame
