// SPDX-License-Identifier: BSD-2-Clause
#include "core/scan_fields.h"

#include <emmintrin.h>

#include <bit>
#include <cstdint>

namespace memflame {
namespace {

constexpr size_t fields_width = 64;

// Bit i is set if byte i is `byte`.
uint64_t places_of(const char* bytes, __m128i byte) {
  uint64_t places = 0;
  for (unsigned part = 0; part < fields_width; part += 16) {
    const __m128i loaded = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + part));
    const auto found = static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(loaded, byte)));
    places |= uint64_t{found} << part;
  }
  return places;
}

}  // namespace

size_t FieldScanner::line_end(std::string_view text, size_t from) {
  const __m128i feed = _mm_set1_epi8('\n'), wanted = _mm_set1_epi8(separator_);
  count_ = 0;
  size_t at = from;
  for (; at < text.size(); at += fields_width) {
    if (places_.size() < count_ + fields_width) places_.resize(2 * (count_ + fields_width));
    size_t* next = places_.data() + count_;
    if (text.size() - at < fields_width) {  // byte by byte
      for (; at < text.size() && text[at] != '\n'; ++at)
        if (text[at] == separator_) *next++ = at;
      count_ = static_cast<size_t>(next - places_.data());
      return at;
    }
    const uint64_t feeds = places_of(text.data() + at, feed);
    uint64_t found = places_of(text.data() + at, wanted);
    if (feeds != 0) found &= (feeds & -feeds) - 1;  // those before the first feed
    for (; found != 0; found &= found - 1)
      *next++ = at + static_cast<size_t>(std::countr_zero(found));
    count_ = static_cast<size_t>(next - places_.data());
    if (feeds != 0) return at + static_cast<size_t>(std::countr_zero(feeds));
  }
  return at;
}

}  // namespace memflame
