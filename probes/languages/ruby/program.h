// SPDX-License-Identifier: BSD-2-Clause
// What a file with Ruby's runtime in it says of that runtime: libruby-3.1.so.3.1.2.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "probes/languages/ruby/layout.h"

namespace memflame {

struct RubyProgram {
  std::string version;  // "3.1"
  std::string problem;  // why its functions cannot be read; "" = they can
  bpf::ruby_layout layout{};
  uint64_t state = 0;      // address, in the file's terms, of the thread-local variable's two words
  uint64_t free_code = 0;  // offset in the file of the function that frees a function's code
  uint64_t delta = 0;      // of its code: address = offset in the file + this
};

// None if the file does not contain the runtime.
std::optional<RubyProgram> ruby_in(int fd);

// The offsets of a version, without addresses; none if it is not known.
std::optional<bpf::ruby_layout> ruby_layout(unsigned minor);

}  // namespace memflame
