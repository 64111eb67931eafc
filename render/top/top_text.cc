// SPDX-License-Identifier: BSD-2-Clause
#include "render/top/top_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "core/units.h"
#include "render/text/cells.h"

namespace memflame {
namespace {

std::string_view ellipsis(bool utf8, size_t width) { return utf8 ? "…" : width > 6 ? "..." : ""; }

}  // namespace

std::string top_text(std::string_view clean, bool utf8) {
  return utf8 ? std::string(clean) : ascii_only(clean);
}

std::string cut_right(const std::string& text, size_t width, bool utf8) {
  if (cells(text) <= width) return text;
  const std::string_view sign = width == 0 ? "" : ellipsis(utf8, width);
  return std::string(first_cells(text, width - cells(sign))).append(sign);
}

std::string cut_left(const std::string& text, size_t width, bool utf8) {
  if (cells(text) <= width) return text;
  const std::string_view sign = width == 0 ? "" : ellipsis(utf8, width);
  return std::string(sign).append(last_cells(text, width - cells(sign)));
}

std::string filled(std::string text, size_t width) {
  const size_t used = cells(text);
  return used < width ? text.append(width - used, ' ') : text;
}

std::string filled_left(std::string text, size_t width) {
  const size_t used = cells(text);
  return used < width ? text.insert(0, width - used, ' ') : text;
}

std::vector<std::string> wrapped(std::string_view text, size_t width) {
  std::vector<std::string> lines;
  width = std::max<size_t>(width, 2);  // no letter is wider
  while (cells(text) > width) {
    std::string_view line = first_cells(text, width);
    if (const size_t blank = line.rfind(' '); blank != std::string_view::npos && blank > 0)
      line = line.substr(0, blank);
    lines.emplace_back(line);
    text.remove_prefix(line.size());
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  }
  if (!text.empty() || lines.empty()) lines.emplace_back(text);
  return lines;
}

std::string short_bytes(int64_t bytes) {
  std::string text = iec_bytes(bytes);
  const size_t dot = text.find('.');
  if (text.size() > 9 && dot != std::string::npos) text.erase(dot, text.find(' ') - dot);
  return text;
}

std::string short_growth(double bytes) {
  const double size = std::min(std::abs(std::round(bytes)), 9e18);
  const std::string sign = size == 0 ? "" : bytes > 0 ? "+" : "-";
  return sign + short_bytes(static_cast<int64_t>(size));
}

std::string short_count(int64_t count, size_t width) {
  std::string text = with_commas(count);
  if (text.size() <= width) return text;
  double value = static_cast<double>(count);
  constexpr std::array units{" k", " M", " G", " T", " P"};
  size_t unit = 0;
  for (value /= 1000; std::abs(value) >= 1000 && unit + 1 < units.size(); value /= 1000) ++unit;
  std::array<char, 32> digits{};
  std::snprintf(digits.data(), digits.size(), "%.1f%s", value, units.at(unit));
  return digits.data();
}

std::string_view short_word(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::leak:
      return "leak";
    case VerdictKind::cannot_tell:
      return "can't tell";
    case VerdictKind::cache:
      return "cache";
    case VerdictKind::kept:
      return "kept";
    case VerdictKind::freed_at_end:
      return "freed";
    case VerdictKind::comes_back:
      return "comes back";
  }
  return "";
}

}  // namespace memflame
