// SPDX-License-Identifier: BSD-2-Clause
// What the program is answered that asks the C library for functions and libraries by name:
// dlsym() gives hooks in place of the functions behind them, so that a malloc() that the program
// took by its name is counted, too. Where the answer is another function, or is not known, the real
// one is asked by a jump: it looks at who called it.
#pragma once

#include "state.h"

namespace memflame::inside {

// Finds the real functions from first_loader to first_operator (hooked.h), if nothing has.
void find_loaders();
// What stands for one that the process does not have.
bool is_nothing(uint64_t function);
// For an agent that was preloaded: as long as the process lives.
void begin_answering();
// The hook that dlsym() is to answer with, or dlvsym() if there is a version. Null: whatever the
// real one finds. `caller`: the address that it returns to.
void* answer(void* handle, const char* name, const char* version, uint64_t caller);
// dlopen() of a file by its path, with hooks in what it loads. Null if the real one is to be
// called.
void* open_library(const char* file, int flags);

// Namespaces of libraries (dlmopen(), LD_AUDIT) besides the program's, as far as glibc tells.
uint32_t other_namespaces();
void count_namespace();

}  // namespace memflame::inside
