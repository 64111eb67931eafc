// SPDX-License-Identifier: BSD-2-Clause
#include "core/scan.h"

#include <emmintrin.h>

#include <bit>
#include <cstdint>

namespace memflame {
namespace {

constexpr size_t scan_width = 64;

struct Feeds {
  uint64_t places = 0;  // bit i is set if byte i is a line feed
  size_t count = 0;     // of the bits: popcount is a slow function without its instruction
};

Feeds feeds_among(const char* bytes) {
  const __m128i feed = _mm_set1_epi8('\n');
  __m128i counts = _mm_setzero_si128();
  Feeds feeds;
  for (unsigned part = 0; part < scan_width; part += 16) {
    const __m128i loaded = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + part));
    const __m128i equal = _mm_cmpeq_epi8(loaded, feed);  // -1 for each line feed
    counts = _mm_sub_epi8(counts, equal);
    const auto found = static_cast<uint32_t>(_mm_movemask_epi8(equal));
    feeds.places |= uint64_t{found} << part;
  }
  const __m128i halves = _mm_sad_epu8(counts, _mm_setzero_si128());
  feeds.count = static_cast<size_t>(_mm_cvtsi128_si64(halves) + _mm_extract_epi16(halves, 4));
  return feeds;
}

}  // namespace

Paragraph first_paragraph(std::string_view text) {
  if (text.starts_with('\n')) return {};
  Paragraph found;
  size_t at = 0;
  bool after_feed = false;  // whether the byte before `at` is a line feed
  for (; at + scan_width <= text.size(); at += scan_width) {
    const auto [feeds, count] = feeds_among(text.data() + at);
    if (found.lines == 0 && feeds != 0)
      found.first = at + static_cast<size_t>(std::countr_zero(feeds));
    const uint64_t empty = feeds & ((feeds << 1U) | (after_feed ? 1U : 0U));
    if (empty != 0) {
      const uint64_t before = (empty & -empty) - 1;  // the bits below the lowest one
      found.size = at + static_cast<size_t>(std::countr_zero(empty));
      found.lines += static_cast<size_t>(std::popcount(feeds & before));
      return found;
    }
    found.lines += count;
    after_feed = feeds >> (scan_width - 1) != 0;
  }
  for (; at < text.size(); ++at) {
    const bool feed = text[at] == '\n';
    if (feed && after_feed) {
      found.size = at;
      return found;
    }
    if (feed && found.lines++ == 0) found.first = at;
    after_feed = feed;
  }
  return {};
}

}  // namespace memflame
