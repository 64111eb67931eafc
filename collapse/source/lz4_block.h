// SPDX-License-Identifier: BSD-2-Clause
// A raw block of LZ4.
//
// liblz4 refuses blocks whose last match is close to their end, which LZ4 forbids. bytehound's
// compressor writes such blocks.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace memflame {

// Sets `out` to what the block becomes. False if it is damaged, or becomes more than `most` bytes.
bool unpack_lz4_block(std::span<const char> block, std::vector<char>& out, size_t most);

}  // namespace memflame
