// SPDX-License-Identifier: BSD-2-Clause
#include "core/runtime_stacks.h"

#include "core/script_files.h"

namespace memflame {

FrameId native_frame(Profile& profile) {
  return profile.frames.intern({.function = profile.strings.intern(native_frame_name),
                                .module = {},
                                .file = {},
                                .kind = FrameKind::note});
}

RuntimeStacks fold_runtime(const Profile& profile, FrameId native) {
  std::vector<bool> is_of_script(profile.frames.size());
  for (uint32_t i = 1; i < is_of_script.size(); ++i)
    is_of_script[i] = is_script(profile, profile.frames[FrameId{i}]);
  RuntimeStacks out;
  out.place.resize(profile.stacks.size());
  std::vector<StackId> script(out.place.size());  // the last function of the language on the way
  for (uint32_t i = 1; i < out.place.size(); ++i) {
    const StackNode& node = profile.stacks[StackId{i}];
    const StackId before = script[node.caller.index];
    StackId caller = out.place[node.caller.index];
    script[i] = before;
    if (is_of_script[node.frame.index]) {
      if (before && before != node.caller) {
        caller = out.stacks.push(out.place[before.index], native);
        const StackNode& between = profile.stacks[node.caller];
        out.any = out.any || between.frame != native || between.caller != before;
      }
      script[i] = StackId{i};
    }
    out.place[i] = out.stacks.push(caller, node.frame);
  }
  return out;
}

}  // namespace memflame
