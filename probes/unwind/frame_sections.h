// SPDX-License-Identifier: BSD-2-Clause
// Where an ELF file has its .eh_frame and .debug_frame.
#pragma once

#include "core/elf/image.h"
#include "probes/unwind/eh_frame.h"

namespace memflame::unwind {

struct FoundFrames {
  ImageRange range;      // holds the bytes
  FrameSection section;  // its bytes are empty if the file has none
};

// Finds .eh_frame, or with `debug` .debug_frame. Without section headers only .eh_frame can be
// found.
FoundFrames find_frames(const ImageBytes& image, const ElfImage& elf, bool debug);

}  // namespace memflame::unwind
