// SPDX-License-Identifier: BSD-2-Clause
#include <immintrin.h>

#include "core/scan_chunks.h"

namespace memflame {
namespace {

#define MEMFLAME_AVX2 gnu::target("avx2,bmi,popcnt"), gnu::always_inline

[[MEMFLAME_AVX2]] inline __m256i load_avx2(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}

[[MEMFLAME_AVX2]] inline uint64_t feeds_avx2(__m256i bytes) {
  return static_cast<uint32_t>(
      _mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\n'))));
}

// 0 for the bytes from `end` on; `first` is the place of the first one.
[[MEMFLAME_AVX2]] inline __m256i kept_avx2(__m256i bytes, size_t end, char first) {
  const __m256i places =
      _mm256_add_epi8(_mm256_set1_epi8(first),
                      _mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17,
                                       18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31));
  return _mm256_and_si256(bytes,
                          _mm256_cmpgt_epi8(_mm256_set1_epi8(static_cast<char>(end)), places));
}

[[MEMFLAME_AVX2]] inline __m256i products_avx2(__m256i words, __m256i keys) {
  const __m256i sums = _mm256_add_epi32(words, keys);
  return _mm256_mul_epu32(sums, _mm256_srli_epi64(sums, 32));
}

[[MEMFLAME_AVX2]] inline uint64_t total_avx2(__m256i sums) {
  const __m128i halves =
      _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
  return static_cast<uint64_t>(_mm_cvtsi128_si64(halves)) +
         static_cast<uint64_t>(_mm_extract_epi64(halves, 1));
}

}  // namespace

bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("popcnt");
}

[[gnu::target("avx2,bmi,popcnt")]] void scan_chunks_avx2(const char* at, size_t count,
                                                         const uint64_t* keys, ChunkScan& scan) {
  constexpr size_t half = chunk_bytes / 2;
  __m256i low = _mm256_setzero_si256(), high = low;
  __m256i first_keys = load_avx2(keys), second_keys = load_avx2(keys + chunk_words / 2);
  uint64_t after_feed = scan.after_feed;
  size_t lines = 0, chunk = 0;
  for (; chunk < count && scan.end == SIZE_MAX; ++chunk, at += chunk_bytes) {
    __m256i first = load_avx2(at), second = load_avx2(at + half);
    const uint64_t feeds = feeds_avx2(first) | feeds_avx2(second) << half;
    const uint64_t empty = feeds & (feeds << 1U | after_feed);
    uint64_t counted = feeds;
    if (__builtin_expect(empty != 0, 0)) {
      scan.end = static_cast<size_t>(__builtin_ctzll(empty));
      scan.chunks = chunk;
      counted &= (empty & -empty) - 1;
      first = kept_avx2(first, scan.end, 0);
      second = kept_avx2(second, scan.end, half);
    }
    lines += static_cast<size_t>(__builtin_popcountll(counted));
    after_feed = feeds >> (chunk_bytes - 1);
    low = _mm256_add_epi64(low, products_avx2(first, first_keys));
    low = _mm256_add_epi64(low, products_avx2(second, second_keys));
    keys += chunk_words;
    first_keys = load_avx2(keys);
    second_keys = load_avx2(keys + chunk_words / 2);
    high = _mm256_add_epi64(high, products_avx2(first, first_keys));
    high = _mm256_add_epi64(high, products_avx2(second, second_keys));
  }
  scan.after_feed = after_feed;
  scan.lines += lines;
  scan.low += total_avx2(low);
  scan.high += total_avx2(high);
}

#undef MEMFLAME_AVX2

}  // namespace memflame
