// SPDX-License-Identifier: BSD-2-Clause
// A frame as valgrind's tools write it: "0x4C2A: f(int) (file.c:12)", "0x4C2A: ??? (in /lib/x.so)".
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "collapse/inputs/readers.h"
#include "core/profile.h"

namespace memflame {

struct ValgrindLabel {
  std::string_view address;   // "0x4C2A"
  std::string_view function;  // empty if valgrind has none ("???")
  std::string_view module, file;
  uint32_t line = 0;
};

// Whatever does not fit is part of the function's name. Views point into `text`.
ValgrindLabel parse_valgrind_label(std::string_view text);

struct ValgrindFrame {
  FrameId frame;
  uint64_t address = 0;  // 0 = unknown
};

// As a frame of the profile. It has file and line only with options.lines, and an address in place
// of a missing name only with options.addresses.
ValgrindFrame valgrind_frame(Profile& profile, const ValgrindLabel& label,
                             const ReadOptions& options);
ValgrindFrame valgrind_frame(Profile& profile, std::string_view text, const ReadOptions& options);

// The stack of these frames, root first, on top of `root`. If several frames have one address, the
// first is the function there, and the others were inlined into it.
StackId push_frames(Profile& profile, std::span<const ValgrindFrame> frames, StackId root = {});

}  // namespace memflame
