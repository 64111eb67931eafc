// SPDX-License-Identifier: BSD-2-Clause
// The number with which the linker identifies the contents of a file.
#pragma once

#include <string>
#include <vector>

#include "core/elf/image.h"

namespace memflame {

// The data of NT_GNU_BUILD_ID, at most 64 bytes; empty if there is none, or if the image is not an
// ELF file.
std::vector<std::byte> build_id(const ImageBytes& image);
// The same in lower-case hex.
std::string build_id_of(int fd);

// The build id among `notes`; empty if there is none.
Bytes build_id_in(Bytes notes, uint64_t align);

}  // namespace memflame
