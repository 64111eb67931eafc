// SPDX-License-Identifier: BSD-2-Clause
// Copies a recording with fewer looks, and with small chunks joined. Events are copied as they are.
#pragma once

#include <cstdint>
#include <string_view>

#include "collapse/history/look_codec.h"

namespace memflame {

struct Rewritten {
  LookEncoder encoder;  // to continue with
  uint64_t bytes = 0;   // of the copy
  uint64_t look_bytes = 0;
  size_t looks = 0;
  uint16_t chunks = 0;
};

// From the first `from_bytes` of a file, and `rest`, which continues them, to an empty file. The
// first `old_looks` looks are halved. Memory does not depend on the length. Throws Error.
Rewritten rewrite(int from, uint64_t from_bytes, std::string_view rest, int to, size_t old_looks,
                  LookEncoder fresh, LookDecoder decoder);

// Writes all bytes at that place. Throws Error with the reason.
void write_at(int fd, std::string_view bytes, uint64_t place);

}  // namespace memflame
