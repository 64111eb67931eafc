// SPDX-License-Identifier: BSD-2-Clause
#include "core/scan.h"

#include <emmintrin.h>

#include <bit>
#include <cstdint>

namespace memflame {
namespace {

constexpr size_t scan_width = 64;

// Bit i is set if byte i is a line feed.
uint64_t feeds_among(const char* bytes) {
  const __m128i feed = _mm_set1_epi8('\n');
  uint64_t feeds = 0;
  for (unsigned part = 0; part < scan_width; part += 16) {
    const __m128i loaded = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + part));
    const int found = _mm_movemask_epi8(_mm_cmpeq_epi8(loaded, feed));
    feeds |= uint64_t{static_cast<uint32_t>(found)} << part;
  }
  return feeds;
}

}  // namespace

Paragraph first_paragraph(std::string_view text) {
  if (text.starts_with('\n')) return {};
  Paragraph found;
  size_t at = 0;
  bool after_feed = false;  // whether the byte before `at` is a line feed
  for (; at + scan_width <= text.size(); at += scan_width) {
    const uint64_t feeds = feeds_among(text.data() + at);
    if (found.lines == 0 && feeds != 0)
      found.first = at + static_cast<size_t>(std::countr_zero(feeds));
    const uint64_t empty = feeds & ((feeds << 1U) | (after_feed ? 1U : 0U));
    if (empty != 0) {
      const uint64_t before = (empty & -empty) - 1;  // the bits below the lowest one
      found.size = at + static_cast<size_t>(std::countr_zero(empty));
      found.lines += static_cast<size_t>(std::popcount(feeds & before));
      return found;
    }
    found.lines += static_cast<size_t>(std::popcount(feeds));
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
