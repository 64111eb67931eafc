// SPDX-License-Identifier: BSD-2-Clause
// Hex numbers with blanks between them.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/error.h"

namespace memflame {

class HexFields {
 public:
  explicit HexFields(std::string_view text) : rest_(text) {}

  // Returns nothing at the end, and from the first field on that is not a number. Throws Error if a
  // number does not fit in 64 bits.
  std::optional<uint64_t> next() {
    constexpr int hex = 16;
    uint64_t value = 0;
    const auto [end, error] =
        std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, hex);
    if (error == std::errc::result_out_of_range) throw Error("a number is beyond 64 bits");
    const auto length = static_cast<size_t>(end - rest_.data());
    if (error != std::errc{} || (length < rest_.size() && rest_[length] != ' '))
      return std::nullopt;
    rest_.remove_prefix(length < rest_.size() ? length + 1 : length);
    return value;
  }

  // The part not taken yet.
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

}  // namespace memflame
