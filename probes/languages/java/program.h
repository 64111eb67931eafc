// SPDX-License-Identifier: BSD-2-Clause
// What a file with HotSpot in it says of it: libjvm.so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "probes/languages/java/layout.h"

namespace memflame {

struct JavaProgram {
  std::string version;  // "17"
  std::string problem;  // why its methods cannot be read; "" = they can
  bpf::java_layout layout{};
  uint64_t delta = 0;  // of its code: address = offset in the file + this
};

// None if the file has no HotSpot with its table of fields.
std::optional<JavaProgram> java_in(int fd);

}  // namespace memflame
