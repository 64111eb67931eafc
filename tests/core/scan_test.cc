// SPDX-License-Identifier: BSD-2-Clause
#include "core/scan.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <string>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

// The same, byte by byte.
Paragraph simple(std::string_view text) {
  const size_t empty = text.find("\n\n");
  if (empty == std::string_view::npos || text.starts_with('\n')) return {};
  const auto end = text.begin() + static_cast<ptrdiff_t>(empty + 1);
  return {.size = empty + 1,
          .lines = static_cast<size_t>(std::count(text.begin(), end, '\n')),
          .first = text.find('\n')};
}

bool same(const Paragraph& a, const Paragraph& b) {
  return a.size == b.size && a.lines == b.lines && a.first == b.first;
}

}  // namespace

TEST_CASE("the first paragraph of a text") {
  CHECK(first_paragraph("").size == 0);
  CHECK(first_paragraph("\n\na\n\n").size == 0);
  CHECK(first_paragraph("a\nb\n").size == 0);
  CHECK(first_paragraph("a\r\n\r\n").size == 0);
  const Paragraph found = first_paragraph("ab\nc\n\nd\n\n");
  CHECK(found.size == 5);
  CHECK(found.lines == 2);
  CHECK(found.first == 2);
}

TEST_CASE("of any bytes, of any length, up to the end of readable memory") {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const pages =
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(pages != MAP_FAILED);
  char* const end = static_cast<char*>(pages) + page;
  REQUIRE(mprotect(end, page, PROT_NONE) == 0);
  std::mt19937_64 random(1);
  constexpr size_t longest = 200, most_behind = 64;
  // A text that ends before the page's end begins at another alignment.
  for (size_t behind = 0; behind <= most_behind; ++behind)
    for (size_t size = 0; size <= longest; ++size) {
      char* const begin = end - behind - size;
      const uint64_t rare = 1 + random() % 40;
      for (char* at = begin; at != end; ++at) *at = random() % rare == 0 ? '\n' : 'x';
      const std::string_view text(begin, size);
      REQUIRE(same(first_paragraph(text), simple(text)));
    }
  munmap(pages, 2 * page);
}

TEST_CASE("empty lines at each place, with many lines before them") {
  for (size_t place = 1; place < 300; ++place) {
    std::string text(400, 'x');
    for (size_t i = 1; i < place; i += 2) text[i] = '\n';
    text[place] = text[place + 1] = '\n';
    REQUIRE(same(first_paragraph(text), simple(text)));
  }
}
