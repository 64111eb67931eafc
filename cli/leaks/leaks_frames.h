// SPDX-License-Identifier: BSD-2-Clause
// How memflame leaks shows a stack.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/profile.h"
#include "core/recording.h"

namespace memflame {

// The frames of a stack as lines, innermost first. Unless all are wanted, what lies between the
// function that allocated and the code that wanted the memory is left out, and long names of C++
// functions lose their types.
std::vector<std::string> frame_lines(const Profile& profile, StackId stack, bool all);

// The place among all lines of the code that wanted the memory: the first frame that belongs
// neither to an allocator nor to the C++ library. 0 if there is none.
size_t place_of_caller(const Profile& profile, StackId stack);

std::string base_name(const std::string& path);  // without its folder

// "container 0123456789ab, server (1234)"; "" if the stack belongs to no process.
std::string process_of(const Recording& recording, SpaceId id);

}  // namespace memflame
