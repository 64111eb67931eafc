// SPDX-License-Identifier: BSD-2-Clause
// Pieces of lines that have a width.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/stack_mark.h"

namespace memflame {

// As it is, or ASCII only.
std::string top_text(std::string_view clean, bool utf8);

// Cut to a width if it is longer, with a sign that it is; the second keeps the end.
std::string cut_right(const std::string& text, size_t width, bool utf8);
std::string cut_left(const std::string& text, size_t width, bool utf8);

// With blanks, to a width.
std::string filled(std::string text, size_t width);
std::string filled_left(std::string text, size_t width);

// In lines of at most this width; broken at blanks where possible.
std::vector<std::string> wrapped(std::string_view text, size_t width);

std::string short_bytes(int64_t bytes);                // at most 9 letters: "12.3 MiB", "1023 KiB"
std::string short_growth(double bytes);                // "+1.2 MiB", "-812 B", "0 B"
std::string short_count(int64_t count, size_t width);  // "12,345", or "12.3 M" to fit
std::string_view short_word(VerdictKind kind);         // at most 10 letters

}  // namespace memflame
