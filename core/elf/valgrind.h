// SPDX-License-Identifier: BSD-2-Clause
// Recognises valgrind's tools (memcheck and others). A tool maps the program that is watched, but
// runs copies of its code, with a malloc of its own: no probe is reached. A tool that leaves malloc
// alone copies probes as well, and ends the program at the first one (SIGTRAP).
#pragma once

#include "core/elf/image.h"

namespace memflame {

// By what the file holds: programs of any name may be one, and others may have its name.
bool is_valgrind_tool(const ImageBytes& image, const ElfImage& elf);
bool is_valgrind_tool(int fd);

// What is said of its process: "memcheck-amd64- (1234): " + this.
inline constexpr const char* seen_by_nobody =
    "valgrind runs the program on a processor of its own, where memflame sees nothing: leave "
    "valgrind out";

}  // namespace memflame
