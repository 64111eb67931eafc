// SPDX-License-Identifier: BSD-2-Clause
// Rows of code that nothing describes, made by following its instructions from where functions
// begin. At each instruction reached, the distance of rsp from the return address is known, and
// where rbp and rbx were saved. If it is not known, if paths with different heights meet, or if
// nothing leads to the code, it gets a row_bad: nothing is guessed.
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
  std::vector<uint64_t> pointers;  // code addresses that code loads, where nothing else leads to
  uint64_t entry = 0;              // the program's first instruction; 0: not here
  // Code loads addresses: those within [text, text_end) are candidates.
  uint64_t text = 0, text_end = 0;
  bool absolute = false;  // numbers in instructions may be such addresses too
};

struct FollowedCode {
  std::vector<KnownCode> known;  // one for each part
  bool given_up = false;         // there is too much code, and `known` is empty
};

FollowedCode follow(const UndescribedCode& code);

}  // namespace memflame::unwind
