// SPDX-License-Identifier: BSD-2-Clause
// What a misspelt word probably means.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

namespace memflame {

// Letters to insert, delete or replace to turn one into the other (Levenshtein).
inline size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (const char letter : a) {
    size_t diagonal = row[0]++;
    for (size_t i = 1; i <= b.size(); ++i) {
      const size_t replaced = diagonal + (letter == b[i - 1] ? 0 : 1);
      diagonal = row[i];
      row[i] = std::min({replaced, row[i] + 1, row[i - 1] + 1});
    }
  }
  return row.back();
}

// The one of `names` that is closest to `word`; "" if none is close.
inline std::string_view nearest_name(std::string_view word,
                                     std::span<const std::string_view> names) {
  constexpr size_t longest = 32;  // longer words are not compared
  if (word.size() > longest || names.empty()) return {};
  const std::string_view best =
      *std::min_element(names.begin(), names.end(), [&](std::string_view a, std::string_view b) {
        return edit_distance(a, word) < edit_distance(b, word);
      });
  return edit_distance(best, word) <= std::max<size_t>(1, word.size() / 3) ? best
                                                                           : std::string_view{};
}

}  // namespace memflame
