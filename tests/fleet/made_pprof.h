// SPDX-License-Identifier: BSD-2-Clause
// Profiles of windows, as the outputs of memflame write them.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "core/folded.h"
#include "core/profile.h"
#include "fleet/window.h"
#include "render/output.h"
#include "render/picture/options.h"

namespace memflame::tests {

struct MadeStack {
  std::vector<std::string> frames;  // root first
  int64_t inuse_bytes = 0, inuse_objects = 0, alloc_bytes = 0, alloc_objects = 0;
};

inline std::string made_pprof(const std::vector<MadeStack>& stacks) {
  Profile profile;
  for (const WindowType& type : window_types)
    profile.types.push_back({std::string(type.name), type.unit});
  for (const MadeStack& stack : stacks) {
    StackId id;
    for (const std::string& frame : stack.frames) id = profile.push(id, frame);
    profile.add(id, std::vector<int64_t>{stack.inuse_bytes, stack.inuse_objects, stack.alloc_bytes,
                                         stack.alloc_objects, 0, 0, 0});
  }
  std::ostringstream bytes;
  output_for("pprof", "").write(bytes, profile, resolved({}, profile));
  return bytes.str();
}

}  // namespace memflame::tests
