// SPDX-License-Identifier: BSD-2-Clause
// Hides or merges the allocator's frames at the leaf end of stacks.
#include <algorithm>

#include "collapse/tidy/rebuild.h"
#include "collapse/tidy/tidy.h"
#include "core/inner_frame.h"

namespace memflame {
namespace {

constexpr std::string_view merged_name = "[allocator]";

std::vector<bool> allocator_frames(const Profile& profile, const AllocatorList& list) {
  std::vector<bool> result(profile.frames.size(), false);
  for (uint32_t i = 1; i < result.size(); ++i) {
    const Frame& frame = profile.frames[FrameId{i}];
    const bool code = frame.kind != FrameKind::process && frame.kind != FrameKind::note;
    result[i] = code && list.contains(profile.strings[frame.function]);
  }
  return result;
}

}  // namespace

Profile tidy_allocators(Profile profile, Allocators what, const AllocatorList& list) {
  if (what == Allocators::keep) return profile;
  const std::vector<bool> allocator = allocator_frames(profile, list);
  if (std::find(allocator.begin(), allocator.end(), true) == allocator.end()) return profile;
  const size_t size = profile.stacks.size();
  Moved moved;
  moved.place.resize(size);
  FrameId merged;
  if (what == Allocators::merge) {
    const Frame frame{profile.strings.intern(merged_name), {}, {}, 0, FrameKind::note};
    merged = profile.frames.intern(frame);
  }
  // The caller of the run of allocator frames at the end of a stack; the stack itself if there is
  // none.
  for (uint32_t i = 1; i < size; ++i) {
    const StackNode node = profile.stacks[StackId{i}];
    moved.place[i] = allocator[node.frame.index] ? moved.place[node.caller.index] : StackId{i};
  }
  moved.stacks = std::move(profile.stacks);
  if (merged)
    for (uint32_t i = 1; i < size; ++i)
      if (moved.place[i] != StackId{i}) moved.place[i] = moved.stacks.push(moved.place[i], merged);
  return with_stacks(std::move(profile), std::move(moved), {}, merged_name);
}

Profile blame_caller(Profile profile, const AllocatorList& list) {
  const std::vector<bool> allocator = allocator_frames(profile, list);
  const bool any = std::find(allocator.begin(), allocator.end(), true) != allocator.end();
  if (!any || !counts_memory(profile)) return profile;
  profile.meta.notes.emplace_back("memory is that of the module that called the allocator");
  return tidy_allocators(std::move(profile), Allocators::hide, list);
}

}  // namespace memflame
