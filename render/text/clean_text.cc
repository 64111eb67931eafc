// SPDX-License-Identifier: BSD-2-Clause
#include "render/text/clean_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

namespace memflame {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

struct Decoded {
  uint32_t point = 0;
  size_t bytes = 0;  // 0: not UTF-8
};

// One code point, strictly: no overlong forms, no surrogates, nothing above U+10FFFF (RFC 3629).
Decoded decode(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  uint32_t point = lead & (0x7FU >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    point = (point << 6U) | (byte(i) & 0x3FU);
  }
  constexpr uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (point < smallest[bytes] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF))
    return {};
  return {point, bytes};
}

bool is_direction_mark(uint32_t point) {
  return (point >= 0x202A && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069);
}

bool is_text(uint32_t point) {
  if (point < 0x7F) return point >= 0x20;
  if (point < 0xA0) return false;
  return (point & 0xFFFEU) != 0xFFFE && !is_direction_mark(point);
}

// The most common ones; enough not to cut an accent off its letter.
bool is_combining(uint32_t point) {
  return (point >= 0x300 && point <= 0x36F) || (point >= 0x1AB0 && point <= 0x1AFF) ||
         (point >= 0x1DC0 && point <= 0x1DFF) || (point >= 0x20D0 && point <= 0x20FF) ||
         (point >= 0xFE00 && point <= 0xFE2F) || point == 0x200D;
}

}  // namespace

// Eight bytes at a time. A sum or difference runs over into the next byte only where a byte is not
// plain.
bool is_plain_text(std::string_view bytes) {
  constexpr uint64_t each = 0x0101010101010101, high = each * 0x80;
  for (size_t at = 0; at < bytes.size(); at += sizeof(uint64_t)) {
    uint64_t word = each * ' ';
    std::memcpy(&word, &bytes[at], std::min(sizeof word, bytes.size() - at));
    if (((word | (word - each * ' ') | (word + each)) & high) != 0) return false;
  }
  return true;
}

std::string clean_text(std::string_view bytes, uint64_t& replaced) {
  if (is_plain_text(bytes)) return std::string(bytes);
  std::string out;
  while (!bytes.empty()) {
    const Decoded got = decode(bytes);
    const size_t size = std::max<size_t>(got.bytes, 1);
    const bool good = got.bytes != 0 && is_text(got.point);
    out += good ? bytes.substr(0, size) : replacement;
    if (!good) replaced += size;
    bytes.remove_prefix(size);
  }
  return out;
}

std::string clean_text(std::string_view bytes) {
  uint64_t replaced = 0;
  return clean_text(bytes, replaced);
}

CleanStrings clean_strings(const Profile& profile) {
  CleanStrings clean;
  clean.texts.reserve(profile.strings.size());
  for (uint32_t i = 0; i < profile.strings.size(); ++i)
    clean.texts.push_back(clean_text(profile.strings[StringId{i}], clean.replaced));
  return clean;
}

uint64_t replaced_bytes(const Profile& profile) {
  uint64_t replaced = 0;
  for (uint32_t i = 0; i < profile.strings.size(); ++i)
    if (const std::string_view text = profile.strings[StringId{i}]; !is_plain_text(text))
      static_cast<void>(clean_text(text, replaced));
  return replaced;
}

void append_xml(std::string& out, std::string_view clean) {
  for (const char c : clean) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
}

void append_json(std::string& out, std::string_view clean) {
  for (const char c : clean) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
}

std::string number_text(double value) {
  if (!std::isfinite(value)) return "0";
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

size_t letter_size(std::string_view clean) {
  size_t end = 0;
  while (end < clean.size()) {
    const Decoded next = decode(clean.substr(end));
    if (end != 0 && !is_combining(next.point)) break;
    end += std::max<size_t>(next.bytes, 1);
  }
  return end;
}

size_t letters(std::string_view clean) {
  size_t count = 0;
  for (; !clean.empty(); clean.remove_prefix(letter_size(clean))) ++count;
  return count;
}

std::string_view first_letters(std::string_view clean, size_t count) {
  size_t end = 0;
  while (count-- > 0 && end < clean.size()) end += letter_size(clean.substr(end));
  return clean.substr(0, end);
}

}  // namespace memflame
