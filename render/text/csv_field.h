// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace memflame {

// By RFC 4180: in quotes if the text holds a quote, a comma or an end of line.
inline std::string csv_field(std::string_view text) {
  const auto is_special = [](char c) { return c == '"' || c == ',' || c == '\r' || c == '\n'; };
  if (std::none_of(text.begin(), text.end(), is_special)) return std::string(text);
  std::string out = "\"";
  for (const char c : text) (c == '"' ? out += '"' : out) += c;
  return out + "\"";
}

}  // namespace memflame
