// SPDX-License-Identifier: BSD-2-Clause
#include "core/python_lines.h"

#include <doctest/doctest.h>

#include <array>
#include <string>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only
using namespace std::string_view_literals;

TEST_CASE("lines of a Python function are those that Python gives") {
  // A function with a comprehension, a finally block and statements over several lines, compiled by
  // 3.12.1; the stretches are what its code's co_lines() says.
  constexpr std::string_view table =
      "\x80\x00\xf4\x08\x00\x0a\x0f\x88\x71\x8b\x18\xf6\x05\x02\x09\x13\xd8\x0d\x0e\xf2\x03\x00\x0a"
      "\x0b\xf0\x00\x02\x09\x13\x80\x41\xf0\x00\x02\x09\x13\xf0\x06\x04\x05\x0e\xdc\x0c\x0f\x90\x01"
      "\xd8\x0c\x0d\xf3\x03\x01\x0d\x0f\x88\x01\xf0\x06\x00\x0d\x0e\xf0\x2e\x00\x0d\x0e\xd8\x08\x09"
      "\xf1\x03\x01\x0d\x0a\xf0\x00\x01\x05\x0b\xf9\xf2\x3d\x02\x09\x13\xf8\xf1\x0e\x00\x0d\x0e\xfa"sv;
  struct Stretch {
    uint32_t begin, end, line;
  };
  constexpr std::array<Stretch, 18> stretches{{{0, 1, 2},
                                               {1, 11, 6},
                                               {11, 18, 4},
                                               {18, 19, 5},
                                               {19, 25, 4},
                                               {25, 26, 7},
                                               {26, 32, 8},
                                               {32, 33, 9},
                                               {33, 38, 8},
                                               {38, 39, 11},
                                               {39, 40, 34},
                                               {40, 41, 35},
                                               {41, 44, 34},
                                               {44, 46, 0},
                                               {46, 49, 4},
                                               {49, 50, 0},
                                               {50, 52, 11},
                                               {52, 55, 0}}};
  for (const Stretch& stretch : stretches)
    for (uint32_t place = stretch.begin; place < stretch.end; ++place) {
      CAPTURE(place);
      CHECK(python_line(table, 2, place) == stretch.line);
    }
  CHECK(python_line(table, 2, 55) == 0);
}

TEST_CASE("a table of lines that makes no sense has no lines, and ends") {
  CHECK(python_line("", 7, 0) == 0);
  CHECK(python_line("\x01\x02\x03"sv, 7, 0) == 0);
  CHECK(python_line("\xe8"sv, 7, 0) == 7);                                  // its change is missing
  CHECK(python_line("\xe8\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f"sv, 7, 0) == 0);  // far below line 1
  CHECK(python_line("\xe8\x7e\x7f\x7f\x7f\x7f\x7f\x7f\x7f"sv, 7, 0) == 0);  // beyond any line
  CHECK(python_line(std::string(1 << 16, '\xff'), 7, UINT32_MAX) == 0);
}
