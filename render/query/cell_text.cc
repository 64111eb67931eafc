// SPDX-License-Identifier: BSD-2-Clause
#include "render/query/cell_text.h"

#include <cmath>

#include "render/text/clean_text.h"

namespace memflame {

std::string cell_text(const QueryValue& value, const std::string& null) {
  if (const auto* number = std::get_if<int64_t>(&value)) return std::to_string(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  const auto* real = std::get_if<double>(&value);
  if (real == nullptr) return null;
  if (std::isinf(*real)) return *real > 0 ? "Inf" : "-Inf";
  std::string text = number_text(*real);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace memflame
