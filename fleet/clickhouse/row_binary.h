// SPDX-License-Identifier: BSD-2-Clause
// ClickHouse's format RowBinary: values follow each other, without names and without escapes. Rows
// are sent and read in it, and values are bound to queries in it.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace memflame {

static_assert(std::endian::native == std::endian::little, "RowBinary is little-endian");

class RowWriter {
 public:
  // UInt8 to UInt64, Int64, Float64; Date is the number of days (UInt16), DateTime that of seconds
  // (UInt32).
  template <class Number>
  requires std::integral<Number> || std::floating_point<Number>
  void number(Number value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    bytes_.append(bytes, sizeof value);
  }
  void count(uint64_t value) {
    for (; value >= 0x80; value >>= 7U) bytes_ += static_cast<char>(value | 0x80U);
    bytes_ += static_cast<char>(value);
  }
  void text(std::string_view text) {
    count(text.size());
    bytes_ += text;
  }
  void texts(const std::vector<std::string>& list) {
    count(list.size());
    for (const std::string& each : list) text(each);
  }
  template <class Number>
  void numbers(const std::vector<Number>& list) {
    count(list.size());
    for (const Number each : list) number(each);
  }
  void raw(std::string_view bytes) { bytes_ += bytes; }

  const std::string& bytes() const { return bytes_; }
  bool empty() const { return bytes_.empty(); }

 private:
  std::string bytes_;
};

// Throws Error when the bytes end too early: a reply may be damaged on its way.
class RowReader {
 public:
  explicit RowReader(std::string_view bytes) : bytes_(bytes) {}

  bool at_end() const { return bytes_.empty(); }
  template <class Number>
  Number number() {
    Number value;
    std::memcpy(&value, taken(sizeof value).data(), sizeof value);
    return value;
  }
  uint64_t count() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = number<uint8_t>();
      value |= (byte & uint64_t{0x7f}) << shift;
      if (byte < 0x80) return value;
    }
    throw Error("the store's reply is damaged");
  }
  std::string_view text() { return taken(count()); }
  std::vector<std::string> texts() {
    std::vector<std::string> list(items(1));
    for (std::string& each : list) each = text();
    return list;
  }
  template <class Number>
  std::vector<Number> numbers() {
    std::vector<Number> list(items(sizeof(Number)));
    for (Number& each : list) each = number<Number>();
    return list;
  }

 private:
  std::string_view taken(uint64_t size) {
    if (size > bytes_.size()) throw Error("the store's reply ends in the middle");
    const std::string_view part = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return part;
  }
  // How many follow; each takes that many bytes or more, so memory stays within the reply's size.
  size_t items(size_t least_bytes) {
    const uint64_t items = count();
    if (items > bytes_.size() / least_bytes) throw Error("the store's reply ends in the middle");
    return items;
  }

  std::string_view bytes_;
};

}  // namespace memflame
