// SPDX-License-Identifier: BSD-2-Clause
// Recognises folded text by the beginning of a text.
#pragma once

#include <cstddef>
#include <string_view>

namespace memflame {

// Lines that are neither empty nor comments; a truncated last line is not counted.
struct LineCounts {
  size_t all = 0;
  size_t numbered = 0;  // end in a blank and a number, as lines of folded text do
  size_t framed = 0;    // of these, have a ';' before it
  size_t names = 0;     // of these, have no ';' but could be the name of one function
};
LineCounts count_lines(std::string_view head);

}  // namespace memflame
