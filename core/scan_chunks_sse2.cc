// SPDX-License-Identifier: BSD-2-Clause
#include <emmintrin.h>

#include <bit>

#include "core/scan_chunks.h"

namespace memflame {
namespace {

constexpr size_t parts = chunk_bytes / sizeof(__m128i);

__m128i load_sse2(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }

// 0 for the bytes from `end` on; `first` is the place of the first one.
__m128i kept_sse2(__m128i bytes, size_t end, size_t first) {
  const __m128i places =
      _mm_add_epi8(_mm_set1_epi8(static_cast<char>(first)),
                   _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
  return _mm_and_si128(bytes, _mm_cmpgt_epi8(_mm_set1_epi8(static_cast<char>(end)), places));
}

__m128i products_sse2(__m128i words, __m128i keys) {
  const __m128i sums = _mm_add_epi32(words, keys);
  return _mm_mul_epu32(sums, _mm_srli_epi64(sums, 32));
}

uint64_t total_sse2(__m128i sums) {
  return static_cast<uint64_t>(_mm_cvtsi128_si64(sums)) +
         static_cast<uint64_t>(_mm_cvtsi128_si64(_mm_unpackhi_epi64(sums, sums)));
}

}  // namespace

void scan_chunks_sse2(const char* at, size_t count, const uint64_t* keys, ChunkScan& scan) {
  const __m128i feed = _mm_set1_epi8('\n');
  __m128i low = _mm_setzero_si128(), high = low;
  uint64_t after_feed = scan.after_feed;
  for (size_t chunk = 0; chunk < count && scan.end == SIZE_MAX; ++chunk, at += chunk_bytes) {
    __m128i bytes[parts];
    // Counted by vectors: popcount is a slow function without its instruction.
    __m128i counts = _mm_setzero_si128();
    uint64_t feeds = 0;
    for (size_t i = 0; i < parts; ++i) {
      bytes[i] = load_sse2(at + i * sizeof(__m128i));
      const __m128i equal = _mm_cmpeq_epi8(bytes[i], feed);  // -1 for each feed
      counts = _mm_sub_epi8(counts, equal);
      feeds |= uint64_t{static_cast<uint32_t>(_mm_movemask_epi8(equal))} << i * sizeof(__m128i);
    }
    const uint64_t empty = feeds & (feeds << 1U | after_feed);
    if (empty != 0) {
      scan.end = static_cast<size_t>(std::countr_zero(empty));
      scan.chunks = chunk;
      scan.lines += static_cast<size_t>(std::popcount(feeds & ((empty & -empty) - 1)));
      for (size_t i = 0; i < parts; ++i)
        bytes[i] = kept_sse2(bytes[i], scan.end, i * sizeof(__m128i));
    } else {
      scan.lines += static_cast<size_t>(total_sse2(_mm_sad_epu8(counts, _mm_setzero_si128())));
    }
    after_feed = feeds >> (chunk_bytes - 1);
    for (size_t i = 0; i < parts; ++i) {
      const uint64_t* const key = keys + 2 * i;
      low = _mm_add_epi64(low, products_sse2(bytes[i], load_sse2(key)));
      high = _mm_add_epi64(high, products_sse2(bytes[i], load_sse2(key + chunk_words)));
    }
    keys += chunk_words;
  }
  scan.after_feed = after_feed;
  scan.low += total_sse2(low);
  scan.high += total_sse2(high);
}

}  // namespace memflame
