// SPDX-License-Identifier: BSD-2-Clause
#include "render/text/cells.h"

#include <doctest/doctest.h>

#include <clocale>
#include <cwchar>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

TEST_CASE("wide letters have two cells, marks have none") {
  CHECK(cells("") == 0);
  CHECK(cells("abc") == 3);
  CHECK(cells("é") == 1);
  CHECK(cells("e\xCC\x81") == 1);
  CHECK(cells("名前") == 4);
  CHECK(cells("한글") == 4);
  CHECK(cells("…▁█←") == 4);
  CHECK(cells("\xF0\x9F\x98\x80") == 2);  // an emoji
  CHECK(cells("\xEF\xBF\xBD") == 1);      // what replaces bytes that are not text
}

TEST_CASE("a letter is never cut, and its marks stay with it") {
  CHECK(first_cells("名前", 3) == "名");
  CHECK(first_cells("e\xCC\x81x", 1) == "e\xCC\x81");
  CHECK(first_cells("abc", 9) == "abc");
  CHECK(first_cells("abc", 0).empty());
  CHECK(last_cells("名前", 3) == "前");
  CHECK(last_cells("xe\xCC\x81", 1) == "e\xCC\x81");
  CHECK(last_cells("ae\xCC\x81x", 1) == "x");
  CHECK(last_cells("abc", 9) == "abc");
}

TEST_CASE("ASCII has a question mark for each other letter") {
  CHECK(ascii_only("a名e\xCC\x81…") == "a?e?");
}

// Where the two differ, a terminal shows '?'; that should be rare.
TEST_CASE("the C library agrees about nearly all letters that it knows") {
  if (std::setlocale(LC_CTYPE, "C.UTF-8") == nullptr) return;
  size_t known = 0, different = 0;
  for (char32_t point = 0x20; point < 0x30000; ++point) {
    const int width = ::wcwidth(static_cast<wchar_t>(point));
    if (width < 0) continue;
    ++known;
    if (width != cells_of(point)) ++different;
  }
  std::setlocale(LC_CTYPE, "C");
  CHECK(known > 100'000);
  CHECK(different < known / 50);
}
