// SPDX-License-Identifier: BSD-2-Clause
// Frames as pictures use them: without their source lines, in order of their names.
#pragma once

#include <cstdint>
#include <vector>

#include "core/profile.h"

namespace memflame {

// Bytewise by function, then by module, then by kind.
struct PlainFrames {
  std::vector<uint32_t> rank;    // FrameId::index -> place; frames that differ by lines share one
  std::vector<FrameId> of_rank;  // one of them
  bool distinct = true;          // no two share one
};

PlainFrames plain_frames(const Profile& profile);

}  // namespace memflame
