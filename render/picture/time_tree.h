// SPDX-License-Identifier: BSD-2-Clause
// The tree of a flame chart.
#pragma once

#include "render/order/plain_frames.h"
#include "render/picture/frame_tree.h"

namespace memflame {

// Like frame_tree() in the order of time.
FrameTree time_tree(const Profile& profile, const PlainFrames& frames);

}  // namespace memflame
