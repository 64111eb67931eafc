// SPDX-License-Identifier: BSD-2-Clause
// The words of a selection.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collapse/select/query.h"

namespace memflame {

struct SelectToken {
  enum class Kind : uint8_t {
    word,    // size, chain.length, and
    number,  // 12.5s, 4K, 98%, 0x7f00
    string,  // "text" or 'text'
    sign,    // ( ) + - & = != < <= > >= ~ !~ ..
    end,
  };
  Kind kind = Kind::end;
  std::string_view text{};  // as it stands in the expression
  std::string value{};      // of a string, without quotes
  uint32_t at = 0;          // in bytes

  bool is(std::string_view sign_or_word) const {
    return (kind == Kind::word || kind == Kind::sign) && text == sign_or_word;
  }
};

// The tokens of `expression.text`, which must outlive them; the last one is `end`. In a string, a
// backslash stands for itself unless a quote follows: regular expressions are written as they are.
// Throws Error (usage).
std::vector<SelectToken> tokens_of(const Expression& expression);

}  // namespace memflame
