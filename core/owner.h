// SPDX-License-Identifier: BSD-2-Clause
// Whose code a frame is.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/profile.h"

namespace memflame {

enum class Owner : uint8_t { application, library, allocator, kernel, jit, unknown };
inline constexpr size_t owner_count = 6;
inline constexpr std::array<std::string_view, owner_count> owner_names{
    "application", "library", "allocator", "kernel", "JIT", "unknown"};

// Depends on the frame's kind, on allocators.txt, and on the file that its code is mapped from.
// Code outside shared objects belongs to the application, and so does a function without a known
// file. The interpreter of a script and installed packages are libraries. Processes and notes have
// no owner: unknown.
Owner owner_of(const Profile& profile, const Frame& frame);

}  // namespace memflame
