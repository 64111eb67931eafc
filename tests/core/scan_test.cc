// SPDX-License-Identifier: BSD-2-Clause
#include "core/scan.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

// The same by any way, and right by what is simple.
bool is_right(std::string_view text) {
  const Paragraph found = first_paragraph_by_bytes(text);
  const size_t empty = text.starts_with('\n') ? 0 : text.find("\n\n");
  if (found.ended != (empty != std::string_view::npos)) return false;
  const std::string_view lines = text.substr(0, found.size);
  if (found.ended && empty != 0 && found.size != empty + 1) return false;
  if (found.lines != static_cast<size_t>(std::count(lines.begin(), lines.end(), '\n')))
    return false;
  std::vector<Paragraph> others{first_paragraph(text), first_paragraph_by(scan_chunks_sse2, text)};
  if (has_avx2()) others.push_back(first_paragraph_by(scan_chunks_avx2, text));
  return std::all_of(others.begin(), others.end(), [&](const Paragraph& other) {
    return other.ended == found.ended && other.size == found.size && other.lines == found.lines &&
           other.hash == found.hash;
  });
}

}  // namespace

TEST_CASE("the first paragraph of a text") {
  CHECK(!first_paragraph("").ended);
  CHECK(!first_paragraph("a\nb\n").ended);
  CHECK(!first_paragraph("a\r\n\r\n").ended);
  CHECK(first_paragraph("\n\na\n\n").ended);
  CHECK(first_paragraph("\n\na\n\n").size == 0);
  const Paragraph found = first_paragraph("ab\nc\n\nd\n\n");
  CHECK(found.size == 5);
  CHECK(found.lines == 2);
  CHECK(found.hash == first_paragraph("ab\nc\n\n").hash);
  CHECK(found.hash != first_paragraph("ab\nd\n\n").hash);
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
      REQUIRE(is_right(text));
    }
  munmap(pages, 2 * page);
}

TEST_CASE("empty lines at each place, with many lines before them") {
  for (size_t place = 1; place < 300; ++place) {
    std::string text(400, 'x');
    for (size_t i = 1; i < place; i += 2) text[i] = '\n';
    text[place] = text[place + 1] = '\n';
    REQUIRE(is_right(text));
  }
}

TEST_CASE("paragraphs around the length after which the keys begin again") {
  for (const size_t stretches : {size_t{1}, size_t{2}})
    for (size_t place = stretches * 4096 - 70; place < stretches * 4096 + 70; ++place) {
      std::string text(place + 5, 'x');
      for (size_t i = 90; i < place; i += 90) text[i] = '\n';
      text[place] = text[place + 1] = '\n';
      REQUIRE(is_right(text));
      const Hash128 hash = first_paragraph(text).hash;
      text[place - 1] = 'y';
      CHECK(hash != first_paragraph(text).hash);
    }
}
