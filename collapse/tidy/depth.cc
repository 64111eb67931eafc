// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/tidy/depth.h"

#include <algorithm>

#include "collapse/tidy/rebuild.h"
#include "core/units.h"

namespace memflame {

FrameId truncated_frame(Profile& profile) {
  const std::string name =
      "[truncated: " + std::string(info(Loss::truncated_max_frames).label) + "]";
  return profile.frames.intern({profile.strings.intern(name), {}, {}, 0, FrameKind::note});
}

void note_truncated(Profile& profile, uint64_t stacks, uint64_t frames, size_t most) {
  if (stacks == 0) return;
  profile.losses.add(Loss::truncated_max_frames, stacks);
  const auto grouped = [](uint64_t number) { return with_commas(static_cast<int64_t>(number)); };
  profile.meta.notes.push_back(grouped(stacks) + (stacks == 1 ? " stack has" : " stacks have") +
                               " more than " + grouped(most) + " frames: the last " +
                               grouped(frames) + " are left out (--max-frames)");
}

Profile limit_frames(Profile profile, size_t most) {
  const size_t size = profile.stacks.size();
  if (size - 1 <= most) return profile;  // no stack can be deeper than all are together
  // A reader may have truncated them already.
  const FrameId truncated = truncated_frame(profile);
  std::vector<uint32_t> depths(size, 0);
  bool any = false;
  for (uint32_t i = 1; i < size; ++i) {
    const StackNode& node = profile.stacks[StackId{i}];
    depths[i] = depths[node.caller.index] + (node.frame == truncated ? 0 : 1);
    any |= depths[i] > most;
  }
  if (!any) return profile;
  uint64_t stacks = 0, frames = 0;
  for (const StackId stack : profile.touched()) {
    const uint64_t depth = depths[stack.index];
    if (depth <= most) continue;
    ++stacks;
    frames += depth - most;
  }
  Moved moved;
  moved.place.resize(size);
  for (uint32_t i = 1; i < size; ++i) {
    const StackNode& node = profile.stacks[StackId{i}];
    const StackId caller = moved.place[node.caller.index];
    if (depths[i] <= most + 1)
      moved.place[i] = moved.stacks.push(caller, depths[i] <= most ? node.frame : truncated);
    else
      moved.place[i] = caller;
  }
  profile = with_stacks(std::move(profile), std::move(moved));
  note_truncated(profile, stacks, frames, most);
  return profile;
}

}  // namespace memflame
