// SPDX-License-Identifier: BSD-2-Clause
// What a file with V8 in it says of it: /usr/bin/node, or libnode.so.108.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "probes/languages/v8/layout.h"

namespace memflame {

struct V8Program {
  std::string version;  // "11.3"
  std::string problem;  // why its functions cannot be read; "" = they can
  bpf::v8_layout layout{};
  // Offsets in the file of functions: what runs before objects move, after it, and before all go. 0
  // = not found.
  uint64_t moves_begin = 0, moves_end = 0, heap_ends = 0;
};

// None if the file has no V8 with symbols for debuggers.
std::optional<V8Program> v8_in(int fd);

}  // namespace memflame
