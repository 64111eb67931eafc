// SPDX-License-Identifier: BSD-2-Clause
// Values as bytes, for the socket between memflame and the process that reads names. The reader
// trusts nothing: it throws Error on an incomplete value.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/error.h"

namespace memflame {

class WireWriter {
 public:
  template <class Number>
  void number(Number value) {
    static_assert(std::is_integral_v<Number> || std::is_enum_v<Number>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(std::string_view value) {
    number(static_cast<uint32_t>(value.size()));
    bytes_.append(value);
  }
  const std::string& bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

 private:
  std::string bytes_;
};

class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  template <class Number>
  Number number() {
    static_assert(std::is_integral_v<Number>);
    Number value{};
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string text() {
    const auto size = number<uint32_t>();
    return std::string(take(size));
  }
  // An enumerator; `last` is the largest valid one.
  template <class Enum>
  Enum one_of(Enum last) {
    const auto value = number<std::underlying_type_t<Enum>>();
    if (value > static_cast<std::underlying_type_t<Enum>>(last)) fail();
    return static_cast<Enum>(value);
  }
  bool empty() const { return rest_.empty(); }
  [[noreturn]] static void fail() { throw Error("what it sent is not an answer"); }

 private:
  std::string_view take(size_t size) {
    if (size > rest_.size()) fail();
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::string_view rest_;
};

}  // namespace memflame
