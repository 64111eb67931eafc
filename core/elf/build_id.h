// SPDX-License-Identifier: BSD-2-Clause
// The number that the linker gave to a file, which is as good as its contents.
#pragma once

#include <string>
#include <vector>

#include "core/elf/image.h"

namespace memflame {

// NT_GNU_BUILD_ID, at most 64 bytes; empty if there is none, or if it is not an ELF file.
std::vector<std::byte> build_id(const ImageBytes& image);
// The same in lower-case hex.
std::string build_id_of(int fd);

// Among notes; empty if it is not there.
Bytes build_id_in(Bytes notes, uint64_t align);

}  // namespace memflame
