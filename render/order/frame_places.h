// SPDX-License-Identifier: BSD-2-Clause
// A frame without its name: kind, module, file, line; each combination once.
#pragma once

#include <cstdint>
#include <vector>

#include "core/profile.h"

namespace memflame {

struct FramePlaces {
  std::vector<Frame> list;           // without their functions, in the order of their texts
  std::vector<uint32_t> of_frame{};  // by FrameId::index: 1 + the index in the list, 0 = none
};

// Places of the frames of stacks with values. A user frame without module, file and line has a
// place only if its name begins with '[': without a kind, readers would take such a name for a note
// or for unknown code.
FramePlaces frame_places(const Profile& profile);

}  // namespace memflame
