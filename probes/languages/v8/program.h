// SPDX-License-Identifier: BSD-2-Clause
// What a file with V8 in it says of it: /usr/bin/node, or libnode.so.108.
#pragma once

#include <optional>
#include <string>

#include "probes/languages/v8/layout.h"

namespace memflame {

struct V8Program {
  std::string version;  // "11.3"
  std::string problem;  // why its functions cannot be read; "" = they can
  bpf::v8_layout layout{};
};

// None if the file has no V8 with symbols for debuggers.
std::optional<V8Program> v8_in(int fd);

}  // namespace memflame
