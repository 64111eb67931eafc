// SPDX-License-Identifier: BSD-2-Clause
// Finds the end of a line and the separators in it in one pass, 64 bytes at a time with SSE2.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace memflame {

class FieldScanner {
 public:
  explicit FieldScanner(char separator) : separator_(separator) {}

  // Returns the place of the first line feed at or behind `from`, or the text's size.
  size_t line_end(std::string_view text, size_t from);
  // The places of the separator between `from` and there; valid until the next call.
  std::span<const size_t> separators() const { return std::span(places_).first(count_); }

 private:
  const char separator_;
  std::vector<size_t> places_;  // with more room than needed: elements are not added one by one
  size_t count_ = 0;
};

}  // namespace memflame
