// SPDX-License-Identifier: BSD-2-Clause
// Compressed parts of ELF files.
#pragma once

#include <vector>

#include "core/elf/image.h"

namespace memflame {

// What a section with SHF_COMPRESSED stands for; empty if it is damaged or too large.
ImageRange inflate_section(Bytes section);

// The inflated xz data; empty if they are broken, or inflate to more than `limit` bytes.
std::vector<std::byte> inflate_xz(Bytes data, size_t limit);

}  // namespace memflame
