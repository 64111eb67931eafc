// SPDX-License-Identifier: BSD-2-Clause
// What an interpreter does between two functions of its language, as one frame.
#pragma once

#include <string_view>
#include <vector>

#include "core/profile.h"

namespace memflame {

inline constexpr std::string_view native_frame_name = "[native]";

// The frame that stands for such functions.
FrameId native_frame(Profile& profile);

// Where the stacks of a profile go, by StackId::index. A native function may have callees of both
// kinds: those that end in native code keep it, those that come to another function of the language
// have the one frame in its place.
struct RuntimeStacks {
  StackTable stacks;  // of the profile's frames
  std::vector<StackId> place;
  bool any = false;  // whether any stack is another one
};
RuntimeStacks fold_runtime(const Profile& profile, FrameId native);

}  // namespace memflame
