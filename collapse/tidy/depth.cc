// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/tidy/depth.h"

#include <algorithm>

#include "collapse/tidy/rebuild.h"
#include "core/units.h"

namespace memflame {
namespace {

std::string truncated_name() {
  return "[truncated: " + std::string(info(Loss::truncated_max_frames).label) + "]";
}

// The frame that a reader has put in, or none.
FrameId known_truncated_frame(const Profile& profile) {
  const std::string name = truncated_name();
  for (uint32_t i = 1; i < profile.frames.size(); ++i) {
    const Frame& frame = profile.frames[FrameId{i}];
    if (frame.kind == FrameKind::note && profile.strings[frame.function] == name) return FrameId{i};
  }
  return {};
}

}  // namespace

FrameId truncated_frame(Profile& profile) {
  const StringId name = profile.strings.intern(truncated_name());
  return profile.frames.intern({name, {}, {}, 0, FrameKind::note});
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
  const FrameId known = known_truncated_frame(profile);
  std::vector<uint32_t> depths(size, 0);
  bool any = false;
  for (uint32_t i = 1; i < size; ++i) {
    const StackNode& node = profile.stacks[StackId{i}];
    depths[i] = depths[node.caller.index] + (known && node.frame == known ? 0 : 1);
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
  const FrameId truncated = truncated_frame(profile);
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
