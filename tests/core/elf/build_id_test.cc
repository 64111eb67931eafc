// SPDX-License-Identifier: BSD-2-Clause
#include "core/elf/build_id.h"

#include <doctest/doctest.h>

#include "core/hex.h"
#include "tests/core/elf/written_elf.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

std::string id_of(const std::string& text) {
  return hex(build_id(ImageBytes(std::as_bytes(std::span(text)))));
}

}  // namespace

TEST_CASE("in a segment or a section, of 64 or 32 bits") {
  const std::string other = as_text(Elf64_Nhdr{4, 3, 7}) + std::string("GNU\0abc\0", 8);
  const std::string notes = other + id_note("0123456789abcdefghij");
  const std::string id = "303132333435363738396162636465666768696a";
  CHECK(id_of(written_elf<Elf64>(notes)) == id);
  CHECK(id_of(written_elf<Elf32>(notes)) == id);
  CHECK(id_of(written_elf<Elf64>(notes, true)) == id);
  CHECK(id_of(written_elf<Elf32>(notes, true)) == id);
}

TEST_CASE("the last note may lack its padding") {
  CHECK(id_of(written_elf<Elf64>(id_note("abc"))) == "616263");
}

TEST_CASE("none") {
  std::string note = id_note("0123456789abcdefghij");
  SUBCASE("longer than the notes") { note[6] = 1; }
  SUBCASE("a size that wraps around") { note.replace(4, 4, 4, '\xff'); }
  SUBCASE("a name whose size wraps around") { note.replace(0, 4, 4, '\xff'); }
  SUBCASE("another's note") { note[12] = 'X'; }
  SUBCASE("of another type") { note[8] = 4; }
  SUBCASE("too long") { note = id_note(std::string(68, 'x')); }
  SUBCASE("cut") { note.pop_back(); }
  CHECK(id_of(written_elf<Elf64>(note)).empty());
  CHECK(id_of("").empty());
  CHECK(build_id_of(-1).empty());
}
