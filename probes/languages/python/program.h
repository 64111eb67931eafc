// SPDX-License-Identifier: BSD-2-Clause
// What a file with CPython's runtime in it says of that runtime: /usr/bin/python3.11, or
// libpython3.12.so.1.0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "probes/languages/python/versions.h"

namespace memflame {

struct PythonProgram {
  std::string version;  // "3.11"
  std::string problem;  // why its functions cannot be read; "" = they can
  bpf::python_layout layout{};
  uint64_t key = 0;        // address, in the file's terms, of a flag and a pthread_key_t
  uint64_t free_code = 0;  // offset in the file of the function that frees a code object
  uint64_t delta = 0;      // of its code: address = offset in the file + this
};

// None if the file does not contain the runtime, or one before 3.0.
std::optional<PythonProgram> python_in(int fd);

// None if it is not known.
std::optional<PythonVersion> python_version(unsigned minor);

}  // namespace memflame
