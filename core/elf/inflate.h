// SPDX-License-Identifier: BSD-2-Clause
// Compressed parts of ELF files.
#pragma once

#include <vector>

#include "core/elf/image.h"

namespace memflame {

// The contents of a section with SHF_COMPRESSED; empty if they are damaged or too large.
ImageRange inflate_section(Bytes section);

// The contents of xz data; empty if they are damaged, or larger than `limit` bytes.
std::vector<std::byte> inflate_xz(Bytes data, size_t limit);

}  // namespace memflame
