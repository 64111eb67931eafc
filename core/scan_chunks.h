// SPDX-License-Identifier: BSD-2-Clause
// The part of core/scan.h that depends on the processor: chunks of 64 bytes, their line feeds and
// their sums.
//
// The sums are NH of UMAC (Black et al. 1999, RFC 4418), twice, the second time with the keys one
// chunk later. Two texts of one length, at most a stretch, share both sums with a chance of at most
// 2^-64, whoever made them: the keys are random. A word of the text and its key are added as two
// 32-bit numbers each; the product of the two is added to the sum.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace memflame {

inline constexpr size_t chunk_bytes = 64;
inline constexpr size_t chunk_words = chunk_bytes / sizeof(uint64_t);
inline constexpr size_t stretch_chunks = 64;  // then the keys begin again

struct ChunkScan {
  uint64_t low = 0, high = 0;  // sums of the stretch
  uint64_t after_feed = 1;     // whether the byte before the next chunk is a line feed
  size_t lines = 0;            // feeds before the empty line
  size_t chunks = 0;           // of the last call, without the one that has the empty line
  size_t end = SIZE_MAX;       // where in that one the empty line's feed is
};

// Scans chunks until one has an empty line.
// There, bytes from the empty line on count as 0.
// `keys` are those of the first chunk.
using ScanChunks = void (*)(const char* at, size_t count, const uint64_t* keys, ChunkScan& scan);
void scan_chunks_sse2(const char* at, size_t count, const uint64_t* keys, ChunkScan& scan);
void scan_chunks_avx2(const char* at, size_t count, const uint64_t* keys, ChunkScan& scan);
bool has_avx2();

}  // namespace memflame
