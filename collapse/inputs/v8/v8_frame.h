// SPDX-License-Identifier: BSD-2-Clause
// JavaScript functions as frames.
#pragma once

#include <cstdint>
#include <string_view>

#include "collapse/inputs/readers.h"
#include "core/profile.h"

namespace memflame {

// V8's name for the root of all stacks.
inline constexpr std::string_view v8_root = "(root)";

// The script is the frame's module, so that functions with one name in two scripts stay apart;
// `line` counts from 1, 0 = unknown. A function without a name is "(anonymous server.js:12)".
FrameId v8_frame(Profile& profile, std::string_view function, std::string_view script,
                 uint32_t line, const ReadOptions& options);

}  // namespace memflame
