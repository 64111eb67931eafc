// SPDX-License-Identifier: BSD-2-Clause
#include "render/top/sparkline.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace memflame {
namespace {

constexpr std::array<const char*, 9> bar_letters{"▁", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<const char*, 9> ascii_letters{"_", ".", ":", "-", "=", "+", "*", "#", "@"};

}  // namespace

std::string sparkline(std::span<const int64_t> values, size_t most, size_t width, bool utf8) {
  if (values.size() > most) values = values.last(most);
  const int64_t top = values.empty() ? 0 : *std::max_element(values.begin(), values.end());
  const size_t missing = most - values.size();
  std::string line;
  for (size_t bar = 0; bar < width; ++bar) {
    const size_t from = bar * most / width;
    const size_t to = std::max(from + 1, (bar + 1) * most / width);
    int64_t largest = -1;
    for (size_t i = std::max(from, missing); i < to; ++i)
      largest = std::max(largest, values[i - missing]);
    if (largest < 0) {
      line += ' ';
      continue;
    }
    const double share = top <= 0 ? 0 : static_cast<double>(largest) / static_cast<double>(top);
    const auto level = static_cast<size_t>(std::ceil(share * 8));
    line += (utf8 ? bar_letters : ascii_letters).at(std::min<size_t>(level, 8));
  }
  return line;
}

}  // namespace memflame
