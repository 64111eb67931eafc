// SPDX-License-Identifier: BSD-2-Clause
// What a file with CPython's runtime in it says of that runtime: /usr/bin/python3.11, or
// libpython3.12.so.1.0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/elf/image.h"
#include "probes/languages/python/versions.h"

namespace memflame {

struct PythonProgram {
  std::string version;  // "3.11"
  std::string problem;  // why its functions cannot be read; "" = they can
  bpf::python_layout layout{};
  // Address, in the file's terms, of a flag and a pthread_key_t, or of the number of the block
  // of the thread's variables.
  uint64_t key = 0;
  uint64_t free_code = 0;  // offset in the file of the function that frees a code object
  uint64_t delta = 0;      // of its code: address = offset in the file + this
};

// None if the file does not contain the runtime, or one before 3.0.
std::optional<PythonProgram> python_in(int fd);

// Since 3.15 a thread's state is in a thread-local variable, and PyGILState_GetThisThreadState(),
// whose code at `address` this is, does nothing but return it. None if that cannot be seen.
struct PythonThreadState {
  uint64_t block = 0;  // address of the number of a library's block; 0 = it is a program
  int32_t offset = 0;  // in the block, or from what fs points to
};
std::optional<PythonThreadState> python_state_in(Bytes code, uint64_t address);

// None if it is not known.
std::optional<PythonVersion> python_version(unsigned minor);

}  // namespace memflame
