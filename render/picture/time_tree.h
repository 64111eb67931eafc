// SPDX-License-Identifier: BSD-2-Clause
// A flame chart's tree.
#pragma once

#include "render/order/plain_frames.h"
#include "render/picture/frame_tree.h"

namespace memflame {

// As frame_tree() makes it in the order of time.
FrameTree time_tree(const Profile& profile, const PlainFrames& frames);

}  // namespace memflame
