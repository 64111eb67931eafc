// SPDX-License-Identifier: BSD-2-Clause
// Finds the brackets of a C++ or Rust name, in one pass with a stack of open brackets. It knows
// what only looks like a bracket: operator<, operator->, (1)<(2) between parentheses, "->" before a
// result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace memflame {

enum class SpanKind : uint8_t {
  angle,         // <int>
  round,         // (int)
  square,        // [abi:cxx11]
  curly,         // {lambda(int)#1}
  atom,          // (anonymous namespace)
  operator_name  // operator<<, operator new[]; for a conversion "operator " without the type
};

struct NameSpan {
  size_t begin = 0, end = 0;  // [begin, end) with its brackets
  SpanKind kind = SpanKind::angle;
};

// In order of their beginnings: spans inside another follow it. Nothing if a bracket has no
// partner.
std::optional<std::vector<NameSpan>> scan_name(std::string_view name);

inline bool is_identifier(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace memflame
