// SPDX-License-Identifier: BSD-2-Clause
#include "render/text/cells.h"

#include <algorithm>
#include <array>

namespace memflame {
namespace {

struct Points {
  char32_t first, last;
};

// Unicode's general categories Mn, Me and Cf, by blocks: what names really have.
constexpr std::array combining{
    Points{0x00AD, 0x00AD}, Points{0x0300, 0x036F},   Points{0x0483, 0x0489},
    Points{0x0591, 0x05BD}, Points{0x0610, 0x061A},   Points{0x064B, 0x065F},
    Points{0x0E31, 0x0E31}, Points{0x0E34, 0x0E3A},   Points{0x0E47, 0x0E4E},
    Points{0x1160, 0x11FF}, Points{0x1AB0, 0x1AFF},   Points{0x1DC0, 0x1DFF},
    Points{0x200B, 0x200F}, Points{0x2060, 0x2064},   Points{0x20D0, 0x20FF},
    Points{0xD7B0, 0xD7FF}, Points{0xFE00, 0xFE0F},   Points{0xFE20, 0xFE2F},
    Points{0xFEFF, 0xFEFF}, Points{0xE0001, 0xE007F}, Points{0xE0100, 0xE01EF}};

// East_Asian_Width W and F (Unicode Standard Annex 11), and emoji.
constexpr std::array wide{
    Points{0x1100, 0x115F},   Points{0x231A, 0x231B},   Points{0x23E9, 0x23EC},
    Points{0x2614, 0x2615},   Points{0x26A1, 0x26A1},   Points{0x2705, 0x2705},
    Points{0x274C, 0x274C},   Points{0x2B50, 0x2B50},   Points{0x2E80, 0x303E},
    Points{0x3041, 0xA4CF},   Points{0xA960, 0xA97F},   Points{0xAC00, 0xD7A3},
    Points{0xF900, 0xFAFF},   Points{0xFE30, 0xFE6F},   Points{0xFF01, 0xFF60},
    Points{0xFFE0, 0xFFE6},   Points{0x17000, 0x18CFF}, Points{0x1B000, 0x1B2FF},
    Points{0x1F300, 0x1F567}, Points{0x1F5FB, 0x1F64F}, Points{0x1F680, 0x1F6FF},
    Points{0x1F900, 0x1F9FF}, Points{0x1FA70, 0x1FAFF}, Points{0x20000, 0x3FFFD}};

template <size_t Count>
bool is_in(char32_t point, const std::array<Points, Count>& ranges) {
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), point,
                       [](char32_t value, const Points& range) { return value < range.first; });
  return after != ranges.begin() && point <= (after - 1)->last;
}

}  // namespace

int cells_of(char32_t point) {
  if (point < 0x7F) return 1;
  return is_in(point, combining) ? 0 : is_in(point, wide) ? 2 : 1;
}

char32_t take_point(std::string_view& clean) {
  const auto lead = static_cast<unsigned char>(clean.front());
  const size_t bytes = std::min<size_t>(lead < 0x80    ? 1
                                        : lead >= 0xF0 ? 4
                                        : lead >= 0xE0 ? 3
                                                       : 2,
                                        clean.size());
  char32_t point = bytes == 1 ? lead : lead & (0x7FU >> bytes);
  for (size_t i = 1; i < bytes; ++i)
    point = (point << 6U) | (static_cast<unsigned char>(clean[i]) & 0x3FU);
  clean.remove_prefix(bytes);
  return point;
}

size_t cells(std::string_view clean) {
  size_t sum = 0;
  while (!clean.empty()) sum += static_cast<size_t>(cells_of(take_point(clean)));
  return sum;
}

std::string_view first_cells(std::string_view clean, size_t most) {
  size_t sum = 0;
  for (std::string_view rest = clean; !rest.empty();) {
    const size_t at = clean.size() - rest.size();
    sum += static_cast<size_t>(cells_of(take_point(rest)));
    if (sum > most) return clean.substr(0, at);
  }
  return clean;
}

std::string_view last_cells(std::string_view clean, size_t most) {
  size_t left = cells(clean);
  // Marks go with the letter that they belong to.
  while (!clean.empty()) {
    std::string_view rest = clean;
    const int first = cells_of(take_point(rest));
    if (left <= most && first != 0) break;
    left -= static_cast<size_t>(first);
    clean = rest;
  }
  return clean;
}

std::string ascii_only(std::string_view clean) {
  std::string out;
  while (!clean.empty()) {
    const char32_t point = take_point(clean);
    if (point < 0x80)
      out += static_cast<char>(point);
    else if (cells_of(point) != 0)
      out += '?';
  }
  return out;
}

}  // namespace memflame
