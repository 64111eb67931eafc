// SPDX-License-Identifier: BSD-2-Clause
#include "core/scan_fields.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

// Compares with a search byte by byte.
bool is_right(FieldScanner& scanner, std::string_view text, size_t from) {
  const size_t end = std::min(text.find('\n', from), text.size());
  std::vector<size_t> places;
  for (size_t at = from; at < end; ++at)
    if (text[at] == ';') places.push_back(at);
  if (scanner.line_end(text, from) != end) return false;
  const std::span<const size_t> found = scanner.separators();
  return std::equal(found.begin(), found.end(), places.begin(), places.end());
}

}  // namespace

TEST_CASE("the end of a line and the separators before it") {
  FieldScanner scanner(';');
  CHECK(scanner.line_end("", 0) == 0);
  CHECK(scanner.separators().empty());
  CHECK(scanner.line_end("a;b;\n;", 0) == 4);
  CHECK(scanner.separators().size() == 2);
  CHECK(scanner.separators()[1] == 3);
  CHECK(scanner.line_end("a;b;\n;", 2) == 4);
  CHECK(scanner.separators().size() == 1);
  CHECK(scanner.line_end("a;b", 3) == 3);
  CHECK(is_right(scanner, std::string(1000, ';'), 0));
  CHECK(is_right(scanner, std::string(1000, ';') + "\n;", 1));
}

TEST_CASE("fields of any bytes, of any length, up to the end of readable memory") {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const pages =
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(pages != MAP_FAILED);
  char* const end = static_cast<char*>(pages) + page;
  REQUIRE(mprotect(end, page, PROT_NONE) == 0);
  std::mt19937_64 random(1);
  FieldScanner scanner(';');
  constexpr size_t longest = 200, most_behind = 64;
  for (size_t behind = 0; behind <= most_behind; ++behind)
    for (size_t size = 0; size <= longest; ++size) {
      char* const begin = end - behind - size;
      const uint64_t rare = 1 + random() % 200, often = 1 + random() % 20;
      for (char* at = begin; at != end; ++at)
        *at = random() % rare == 0 ? '\n' : random() % often == 0 ? ';' : 'x';
      REQUIRE(is_right(scanner, {begin, size}, random() % (size + 1)));
    }
  munmap(pages, 2 * page);
}
