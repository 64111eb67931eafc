// SPDX-License-Identifier: BSD-2-Clause
// The beginning of a text, as far as folded text is told by it.
#pragma once

#include <cstddef>
#include <string_view>

namespace memflame {

// Lines that are neither empty nor comments; a last one that is cut off is not counted.
struct LineCounts {
  size_t all = 0;
  size_t numbered = 0;  // that end in a blank and a number, as all of folded text do
  size_t framed = 0;    // and have a ';' before it
  size_t names = 0;     // and have none, but what could be the name of one function
};
LineCounts count_lines(std::string_view head);

}  // namespace memflame
