// SPDX-License-Identifier: BSD-2-Clause
// Shows what an interpreter does between two functions of its language as one frame.
#include "collapse/tidy/rebuild.h"
#include "collapse/tidy/tidy.h"
#include "core/script_files.h"

namespace memflame {

// A native function may have callees of both kinds: those that end in native code keep it, those
// that come to another function of the language have the one frame in its place.
Profile hide_runtime(Profile profile) {
  std::vector<bool> is_of_script(profile.frames.size());
  for (uint32_t i = 1; i < is_of_script.size(); ++i)
    is_of_script[i] = is_script(profile, profile.frames[FrameId{i}]);
  const FrameId native = profile.frames.intern({.function = profile.strings.intern("[native]"),
                                                .module = {},
                                                .file = {},
                                                .kind = FrameKind::note});
  Moved moved;
  moved.place.resize(profile.stacks.size());
  std::vector<StackId> script(moved.place.size());  // the innermost function of the language
  for (uint32_t i = 1; i < moved.place.size(); ++i) {
    const StackNode& node = profile.stacks[StackId{i}];
    const StackId before = script[node.caller.index];
    StackId caller = moved.place[node.caller.index];
    script[i] = before;
    if (is_of_script[node.frame.index]) {
      if (before && before != node.caller)
        caller = moved.stacks.push(moved.place[before.index], native);
      script[i] = StackId{i};
    }
    moved.place[i] = moved.stacks.push(caller, node.frame);
  }
  return with_stacks(std::move(profile), std::move(moved));
}

}  // namespace memflame
