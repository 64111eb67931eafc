// SPDX-License-Identifier: BSD-2-Clause
// Functions that allocate on behalf of their caller, and so say little about who wanted the memory.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/profile.h"

namespace memflame {

enum class InnerFrame : uint8_t {
  other,
  allocator,  // allocators.txt
  container,  // containers.txt
};

// By name only: demangled or not, with or without return type and arguments.
InnerFrame inner_frame(const Profile& profile, const Frame& frame);

// Whether figures are of memory. That from malloc() is somebody else's, but time in it is its own.
bool counts_memory(const Profile& profile);

// Whether a frame is a function: neither a process nor a note.
bool is_code(const Frame& frame);

// The function's own name of a demangled one, without its return type and without what follows its
// name: "std::vector<int>::reserve" of "void std::vector<int>::reserve(unsigned long)".
std::string_view own_name(std::string_view function);

}  // namespace memflame
