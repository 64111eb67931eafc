// SPDX-License-Identifier: BSD-2-Clause
// Shared by the steps of tidying: a profile with other stacks.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "core/profile.h"

namespace memflame {

struct Moved {
  StackTable stacks;           // of the profile's frames
  std::vector<StackId> place;  // where the values of a stack go, by StackId::index
  std::vector<bool> dropped;   // stacks that go nowhere; empty if there are none
};

// The profile with other stacks: values that meet are added up, findings follow their stacks.
// `option` is named in the note on dropped stacks; `emptied` is the name of a stack without frames
// ("[hidden]"). Throws Error if a sum does not fit in 64 bits.
Profile with_stacks(Profile from, Moved moved, std::string_view option = {},
                    std::string_view emptied = "[hidden]");

// Returns another frame for a frame, or none to remove it. Called once per frame; it may add frames
// and strings to the profile.
using FrameChange = std::function<FrameId(Profile&, FrameId)>;
std::vector<FrameId> changed_frames(Profile& profile, const FrameChange& change);

// The profile with frames[i] in place of frame i.
Profile with_frames(Profile from, const std::vector<FrameId>& frames);

// Changes the name of each function, and of each process if requested. memflame's own notes stay.
using NameChange = std::function<std::string(std::string_view)>;
Profile with_names(Profile from, const NameChange& change, bool processes = false);

// The function alone, without its line and address.
Frame without_place(Frame frame);

// Drops the names, frames and stacks that no value and no finding needs.
Profile compacted(const Profile& from);

}  // namespace memflame
