// SPDX-License-Identifier: BSD-2-Clause
// How much room text takes on a terminal, whose lines consist of cells of one width.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace memflame {

// 0 for marks that combine with the letter before them, 2 for the wide letters of East Asia and
// emoji, else 1. Not for control characters.
int cells_of(char32_t point);

// The first code point of valid UTF-8, which is taken off the text. It must not be empty.
char32_t take_point(std::string_view& clean);

size_t cells(std::string_view clean);

// The longest beginning, or end, that fits in so much room. An end does not begin with a mark.
std::string_view first_cells(std::string_view clean, size_t most);
std::string_view last_cells(std::string_view clean, size_t most);

// A '?' in place of each letter that is not ASCII, with the marks that follow it.
std::string ascii_only(std::string_view clean);

}  // namespace memflame
