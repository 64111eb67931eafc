// SPDX-License-Identifier: BSD-2-Clause
// What a file with PHP in it says of the interpreter: php8.2, php-fpm8.4, libphp.so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "probes/languages/php/layout.h"

namespace memflame {

struct PhpProgram {
  std::string version;  // "8.2"
  std::string problem;  // why its functions cannot be read; "" = they can
  bpf::php_layout layout{};
  uint64_t globals = 0;        // address of the executor's globals, in the file's terms
  uint64_t delta = 0;          // of its code: address = offset in the file + this
  uint64_t begin_request = 0;  // offset in the file of the function that begins one; 0 = not found
};

// None if the file does not contain the interpreter.
std::optional<PhpProgram> php_in(int fd);

}  // namespace memflame
