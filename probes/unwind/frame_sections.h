// SPDX-License-Identifier: BSD-2-Clause
// Where an ELF file has its .eh_frame and .debug_frame.
#pragma once

#include "core/elf/image.h"
#include "probes/unwind/eh_frame.h"

namespace memflame::unwind {

struct FoundFrames {
  ImageRange range;      // holds the bytes
  FrameSection section;  // without bytes: there is none
};

// .eh_frame, or with `debug` .debug_frame. A file without section headers has the first only.
FoundFrames find_frames(const ImageBytes& image, const ElfImage& elf, bool debug);

}  // namespace memflame::unwind
