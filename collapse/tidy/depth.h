// SPDX-License-Identifier: BSD-2-Clause
// A limit on the number of frames of a stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/profile.h"

namespace memflame {

// In place of the frames above the limit: "[truncated: more frames than --max-frames]".
FrameId truncated_frame(Profile& profile);

// Counts stacks that were truncated, and notes how many frames they lost.
void note_truncated(Profile& profile, uint64_t stacks, uint64_t frames, size_t most);

// Keeps the first `most` frames of each stack, from its root. In linear time.
Profile limit_frames(Profile profile, size_t most);

}  // namespace memflame
