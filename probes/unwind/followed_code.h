// SPDX-License-Identifier: BSD-2-Clause
// Rows of code that nothing describes, made by following its instructions from where functions
// begin. At each instruction reached, the distance of rsp from the return address is known, and
// where rbp and rbx were saved. An instruction gets a row_bad if this is unknown, if paths with
// different heights meet there, or if no path leads to it: nothing is guessed. At most 16 MiB of
// code and 2^20 instructions are followed.
#pragma once

#include <cstdint>
#include <vector>

#include "core/elf/image.h"
#include "probes/unwind/linker_code.h"

namespace memflame::unwind {

struct UndescribedCode {
  struct Part {
    uint64_t start = 0;  // virtual address
    Bytes bytes;
  };
  std::vector<Part> parts;         // sorted, without overlaps and empty ones
  std::vector<uint64_t> starts;    // where functions begin
  std::vector<uint64_t> pointers;  // code addresses in data, tried where no path leads
  uint64_t entry = 0;              // the program's first instruction; 0: not here
  // Addresses that instructions load are tried too if they lie within [text, text_end).
  uint64_t text = 0, text_end = 0;
  bool absolute = false;  // immediate operands may be such addresses too
};

struct FollowedCode {
  std::vector<KnownCode> known;  // one for each part
  bool given_up = false;         // there is too much code, and `known` is empty
};

FollowedCode follow(const UndescribedCode& code);

}  // namespace memflame::unwind
