// SPDX-License-Identifier: BSD-2-Clause
#include "core/java_lines.h"

#include <optional>

#include "core/recording.h"

namespace memflame {
namespace {

constexpr size_t entry_bytes = 4;
constexpr uint32_t largest = 0xffff;  // of places and lines in class files

uint32_t two_bytes(std::string_view table, size_t at) {
  return static_cast<unsigned char>(table[at]) | uint32_t{static_cast<unsigned char>(table[at + 1])}
                                                     << 8U;
}

uint32_t next_byte(std::string_view& rest) {
  const auto byte = static_cast<unsigned char>(rest.front());
  rest.remove_prefix(1);
  return byte;
}

// Digits of six bits, of which the last is below 192; the lowest bit of the whole is the sign.
std::optional<int64_t> signed_digits(std::string_view& rest, uint32_t lowest) {
  uint32_t sum = 0;
  for (unsigned i = 0; i < 5; ++i) {
    if (rest.empty()) return std::nullopt;
    const uint32_t digit = next_byte(rest);
    sum += (digit - lowest) << 6 * i;
    if (digit < 192) break;
  }
  const int64_t half = sum >> 1U;
  return (sum & 1U) != 0 ? -half - 1 : half;
}

}  // namespace

void add_java_line(std::string& table, uint32_t place, uint32_t line) {
  for (const uint32_t each : {place, line}) {
    table.push_back(static_cast<char>(each & 0xffU));
    table.push_back(static_cast<char>(each >> 8U & 0xffU));
  }
}

uint32_t java_line(std::string_view table, uint32_t place) {
  uint32_t best = 0, line = 0;
  for (size_t at = 0; at + entry_bytes <= table.size(); at += entry_bytes) {
    const uint32_t begin = two_bytes(table, at), here = two_bytes(table, at + 2);
    if (place == script_no_place || begin == place) return here;
    if (begin > place || begin < best) continue;
    best = begin;
    line = here;
  }
  return line;
}

std::string java_lines(std::string_view compressed, uint32_t lowest) {
  enum : uint32_t { end = 0, escape = 0xff };
  std::string table;
  int64_t place = 0, line = 0;
  while (!compressed.empty()) {
    const uint32_t head = next_byte(compressed);
    if (head == end) return table;
    if (head == escape) {
      const std::optional<int64_t> places = signed_digits(compressed, lowest);
      const std::optional<int64_t> lines = signed_digits(compressed, lowest);
      if (!places || !lines) break;
      place += *places;
      line += *lines;
    } else {
      place += head >> 3U;
      line += head & 7U;
    }
    if (place < 0 || place > largest || line < 0 || line > largest) break;
    add_java_line(table, static_cast<uint32_t>(place), static_cast<uint32_t>(line));
  }
  return {};  // it has no end, or is damaged
}

}  // namespace memflame
