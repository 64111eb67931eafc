// SPDX-License-Identifier: BSD-2-Clause
// Where the runtime of a Go program keeps its heap profile: from its symbols, or in a stripped
// program from the loads in the code of runtime.MemProfile, which reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/elf/go_version.h"
#include "core/elf/image.h"
#include "core/go_functions.h"

namespace memflame {

// Addresses of the file. Code may load more than what is sought, so those that it names are
// candidates, the likeliest first: whoever reads them checks what lies there.
struct GoPlaces {
  std::optional<GoVersion> version;
  std::vector<uint64_t> buckets;              // the head of the list of buckets: a pointer
  std::vector<uint64_t> cycle;                // 32 bits: the number of the cycle, and a flag
  std::vector<uint64_t> rate;                 // a signed word: bytes from one sample to the next
  uint64_t marker_start = 0, marker_end = 0;  // runtime.skipPleaseUseCallersFrames
  bool knows_rate = false;                    // `rate` begins with the address of its symbol
  bool has_profile = false;                   // the program's code can ask for its heap profile
};

// `functions`: those of the file.
GoPlaces find_go_places(const ImageBytes& image, const ElfImage& elf, const GoFunctions& functions);

}  // namespace memflame
