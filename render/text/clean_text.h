// SPDX-License-Identifier: BSD-2-Clause
// Names come from symbol tables, perf maps and thread names: they may hold any bytes. Everything
// that is written passes through here first.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/profile.h"

namespace memflame {

// Whether all of it is printable ASCII, as most names are. Then it is clean.
bool is_plain_text(std::string_view bytes);

// Valid UTF-8 that every output may hold: U+FFFD replaces each byte that is not UTF-8, each control
// character, each non-character (XML 1.0 forbids both), and the marks that turn the writing
// direction (they would let a name rearrange the figures behind it). `replaced` grows by the bytes
// replaced.
std::string clean_text(std::string_view bytes, uint64_t& replaced);
// For a screen or a message, which does not count them.
std::string clean_text(std::string_view bytes);

// All strings of a profile, cleaned once; by StringId::index.
struct CleanStrings {
  std::vector<std::string> texts;
  uint64_t replaced = 0;
  const std::string& operator[](StringId id) const { return texts[id.index]; }
};
CleanStrings clean_strings(const Profile& profile);

// Bytes of names that no output shows unchanged (Loss::replaced_bytes).
uint64_t replaced_bytes(const Profile& profile);

// Appends with & < > " escaped: fit for XML text and for attributes in double quotes.
void append_xml(std::string& out, std::string_view clean);
// Appends with " and \ escaped: fit for a JSON string.
void append_json(std::string& out, std::string_view clean);

// The shortest decimal text that reads back as the same number; "0" if it is not finite.
std::string number_text(double value);

// Bytes of the first letter: a code point with the combining marks that follow it.
size_t letter_size(std::string_view clean);
size_t letters(std::string_view clean);
std::string_view first_letters(std::string_view clean, size_t count);

}  // namespace memflame
