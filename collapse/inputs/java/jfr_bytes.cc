// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/java/jfr_bytes.h"

#include <algorithm>

#include "core/utf8.h"

namespace memflame {
namespace {

enum TextForm : uint8_t { null_text, empty_text, pooled_text, utf8_text, utf16_text, latin1_text };

}  // namespace

uint64_t JfrBytes::fixed(size_t size) {
  uint64_t number = 0;
  for (const char byte : bytes(size)) number = number << 8U | static_cast<unsigned char>(byte);
  return number;
}

int64_t JfrBytes::number() {
  constexpr unsigned bits = 7, last = 56;
  uint64_t number = 0;
  for (unsigned shift = 0; good_; shift += bits) {
    const uint64_t byte = fixed(1);
    if (shift == last) return static_cast<int64_t>(number | byte << shift);
    number |= (byte & 0x7fU) << shift;
    if (byte < 0x80U) break;
  }
  return static_cast<int64_t>(number);
}

std::string_view JfrBytes::bytes(size_t size) {
  if (size > rest_.size()) {
    fail();
    return {};
  }
  const std::string_view taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}

size_t JfrBytes::count() {
  const int64_t many = number();
  if (many < 0 || static_cast<uint64_t>(many) > rest_.size()) {
    fail();
    return 0;
  }
  return static_cast<size_t>(many);
}

// Halves of a pair that lack the other one become U+FFFD.
std::string JfrBytes::utf16(size_t units) {
  constexpr unsigned replacement = 0xfffd;
  std::string text;
  unsigned high = 0;
  for (; units != 0 && good_; --units) {
    const auto unit = static_cast<unsigned>(number() & 0xffff);
    const bool low = unit >= 0xdc00 && unit < 0xe000;
    if (high != 0 && !low) append_utf8(text, replacement);
    if (unit >= 0xd800 && unit < 0xdc00) {
      high = unit;
      continue;
    }
    if (high != 0 && low)
      append_utf8(text, 0x10000 + ((high - 0xd800) << 10U) + (unit - 0xdc00));
    else
      append_utf8(text, low ? replacement : unit);
    high = 0;
  }
  if (high != 0) append_utf8(text, replacement);
  return text;
}

void JfrBytes::skip_text() {
  switch (fixed(1)) {
    case null_text:
    case empty_text:
      break;
    case pooled_text:
      number();
      break;
    case utf8_text:
    case latin1_text:
      bytes(count());
      break;
    case utf16_text:
      for (size_t left = count(); left != 0 && good_; --left) number();
      break;
    default:
      fail();
  }
}

std::string JfrBytes::text(int64_t& constant) const {
  constexpr size_t longest = 500;
  JfrBytes from = *this;
  constant = -1;
  std::string text;
  switch (from.fixed(1)) {
    case pooled_text:
      constant = from.number();
      break;
    case utf8_text:
      text = beginning(from.bytes(from.count()), longest);
      break;
    case utf16_text:
      text = beginning(from.utf16(std::min(from.count(), longest)), longest);
      break;
    case latin1_text:
      for (const char byte : from.bytes(from.count()).substr(0, longest))
        append_utf8(text, static_cast<unsigned char>(byte));
      break;
    default:
      break;
  }
  return text;
}

}  // namespace memflame
