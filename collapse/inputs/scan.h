// SPDX-License-Identifier: BSD-2-Clause
// Reads a line from left to right. Every function takes what it names off the front, or leaves
// `rest` unchanged and returns false.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>

#include "collapse/text/byte_set.h"
#include "core/error.h"

namespace memflame {

struct Scan {
  std::string_view rest;

  bool literal(std::string_view text) {
    if (!rest.starts_with(text)) return false;
    rest.remove_prefix(text.size());
    return true;
  }

  bool blanks() {  // any number of them
    rest.remove_prefix(first_not_in(rest, blank_bytes));
    return true;
  }

  // An integer. Throws Error if it does not fit in T.
  template <class T>
  bool number(T& value) {
    const std::errc error = digits(value, 10);
    if (error == std::errc::result_out_of_range)
      throw Error("a number leaves the range of 64 bits");
    return error == std::errc{};
  }
  // Like number(), but returns false if the text is not a number or does not fit in T.
  template <class T>
  bool small_number(T& value) {
    return digits(value, 10) == std::errc{};
  }
  bool hex(uint64_t& value) { return digits(value, 16) == std::errc{}; }  // without "0x"

 private:
  template <class T>
  std::errc digits(T& value, int base) {
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value, base);
    if (error == std::errc{}) rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    return error;
  }
};

}  // namespace memflame
