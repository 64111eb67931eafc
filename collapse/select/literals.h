// SPDX-License-Identifier: BSD-2-Clause
// Numbers in selections, as people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace memflame {

// Nanoseconds: "12.5s", "100ms", "1m30s", "90" (seconds). Units are ns, us, ms, s, m, h and d, in
// falling order. None if it is not a length of time, or longer than 31 years (10^9 s).
std::optional<uint64_t> parse_nanoseconds(std::string_view text);

// A decimal fraction, without rounding: digits / 10^scale.
struct ExactFraction {
  uint64_t digits = 0;
  uint8_t scale = 0;
  friend bool operator==(const ExactFraction&, const ExactFraction&) = default;
};

// "98%" is 98 / 10^2. None if it is not a number with a '%', or has more than 15 digits.
std::optional<ExactFraction> parse_percentage(std::string_view text);
// The same, and "0.98".
std::optional<ExactFraction> parse_share(std::string_view text);

// "1000", "0x7f00": none if it is not a whole number below 2^64.
std::optional<uint64_t> parse_count(std::string_view text);

}  // namespace memflame
