// SPDX-License-Identifier: BSD-2-Clause
// Where the lines of a text end, 64 bytes at a time.
#pragma once

#include <emmintrin.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace memflame {

class LineEnds {
 public:
  explicit LineEnds(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  // The line feed at or behind `begin`, which is where a line begins: the start of the text, or
  // what follows the previous line feed. The end of the text if there is none.
  const char* next(const char* begin) {
    while (feeds_ == 0) {
      if (end_ - at_ < width) return in_rest(std::max(begin, at_));
      for (int part = 0; part < width; part += 16) feeds_ |= feeds(part);
      at_ += width;
    }
    const int first = std::countr_zero(feeds_);
    feeds_ &= feeds_ - 1;
    return at_ - width + first;
  }

  // Continues at a later place, where a line begins.
  void skip_to(const char* begin) {
    at_ = begin;
    feeds_ = 0;
  }

 private:
  static constexpr int width = 64;

  uint64_t feeds(int part) const {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at_ + part));
    const int found = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n')));
    return uint64_t{static_cast<uint32_t>(found)} << static_cast<uint32_t>(part);
  }

  const char* in_rest(const char* from) const {
    if (from == end_) return end_;
    const void* feed = std::memchr(from, '\n', static_cast<size_t>(end_ - from));
    return feed != nullptr ? static_cast<const char*>(feed) : end_;
  }

  const char* at_;  // the bytes not looked at yet
  const char* const end_;
  uint64_t feeds_ = 0;  // in the `width` bytes before at_, without those already returned
};

}  // namespace memflame
