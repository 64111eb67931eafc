// SPDX-License-Identifier: BSD-2-Clause
// What the steps of tidying share: other stacks for a profile.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "core/profile.h"

namespace memflame {

struct Moved {
  StackTable stacks;           // of the profile's frames
  std::vector<StackId> place;  // where the values of a stack go, by StackId::index
  std::vector<bool> dropped;   // which go nowhere; empty when none does
};

// The profile with other stacks: figures that meet are added up, findings follow theirs. `option`
// is what is named in the note on dropped stacks; `emptied` is the name of a stack of which nothing
// is left ("[hidden]"). Throws Error when a sum leaves 64 bits.
Profile with_stacks(Profile from, Moved moved, std::string_view option = {},
                    std::string_view emptied = "[hidden]");

// Another frame for each, or none to take it out. Each is asked for once; frames and strings may be
// added to the profile.
using FrameChange = std::function<FrameId(Profile&, FrameId)>;
std::vector<FrameId> changed_frames(Profile& profile, const FrameChange& change);

// The profile with frames[i] in place of frame i.
Profile with_frames(Profile from, const std::vector<FrameId>& frames);

// Another name for each function, and where asked for each process. What memflame says itself
// stays.
using NameChange = std::function<std::string(std::string_view)>;
Profile with_names(Profile from, const NameChange& change, bool processes = false);

// The function alone: not where in it.
Frame without_place(Frame frame);

// Without the names, frames and stacks that no figure and no finding needs.
Profile compacted(const Profile& from);

}  // namespace memflame
