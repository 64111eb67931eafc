// SPDX-License-Identifier: BSD-2-Clause
// Names of the kinds of frames, for formats that spell them out.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "core/stack.h"

namespace memflame {

inline constexpr std::array<std::string_view, 7> kind_names{"user",    "kernel",  "inlined", "jit",
                                                            "unknown", "process", "note"};

inline std::string_view name(FrameKind kind) { return kind_names[static_cast<size_t>(kind)]; }

// False if it is not one of these.
inline bool parse_kind(std::string_view text, FrameKind& kind) {
  const auto* found = std::find(kind_names.begin(), kind_names.end(), text);
  if (found == kind_names.end()) return false;
  kind = static_cast<FrameKind>(found - kind_names.begin());
  return true;
}

}  // namespace memflame
