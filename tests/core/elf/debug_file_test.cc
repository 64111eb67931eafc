// SPDX-License-Identifier: BSD-2-Clause
#include "core/elf/debug_file.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/recording.h"
#include "tests/core/elf/written_elf.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

std::vector<std::string> texts_of(const std::vector<DebugPlace>& places) {
  std::vector<std::string> texts;
  texts.reserve(places.size());
  for (const DebugPlace& place : places) texts.push_back(place.root + ":" + place.path);
  return texts;
}

SharedFd file_of(const std::string& text) {
  SharedFd file(::memfd_create("debug", MFD_CLOEXEC));
  REQUIRE(::pwrite(file.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  return file;
}

}  // namespace

TEST_CASE("places, in the target's root first") {
  CHECK(texts_of(places_of_build_id("/r", "abcd")) ==
        std::vector<std::string>{"/r:/usr/lib/debug/.build-id/ab/cd.debug",
                                 ":/usr/lib/debug/.build-id/ab/cd.debug"});
  CHECK(texts_of(places_of_link("/r", "/usr/bin/x", "y")) ==
        std::vector<std::string>{"/r:/usr/bin/y", "/r:/usr/bin/.debug/y",
                                 "/r:/usr/lib/debug/usr/bin/y", "/r:/usr/lib/debug/bin/y",
                                 ":/usr/bin/y", ":/usr/bin/.debug/y", ":/usr/lib/debug/usr/bin/y",
                                 ":/usr/lib/debug/bin/y"});
  CHECK(places_of_link("", "/x", "y").size() == 6);
}

TEST_CASE("names that lead astray have no places") {
  for (const char* id : {"", "ab", "../../x", "ABCD", "abcg"})
    CHECK(places_of_build_id("", id).empty());
  for (const std::string& link :
       {std::string(), std::string("../y"), std::string("y\0z", 3), std::string(256, 'y')})
    CHECK(places_of_link("", "/usr/bin/x", link).empty());
  CHECK(places_of_link("", "x", "y").empty());
}

TEST_CASE("build ids decide, and checksums where one is missing") {
  constexpr uint32_t sum_of_digits =
      0xcbf43926;  // the check value of CRC-32, as catalogues have it
  const SharedFd plain = file_of("123456789");
  CHECK(StrippedFile{}.belongs_to(plain.get(), sum_of_digits));
  CHECK(StrippedFile{.build_id = "61626364"}.belongs_to(plain.get(), sum_of_digits));
  CHECK_FALSE(StrippedFile{}.belongs_to(plain.get(), 1));
  CHECK_FALSE(StrippedFile{}.belongs_to(plain.get(), std::nullopt));
  CHECK_FALSE(StrippedFile{}.belongs_to(-1, sum_of_digits));

  const SharedFd numbered = file_of(written_elf<Elf64>(id_note("abcd")));
  CHECK(StrippedFile{.build_id = "61626364"}.belongs_to(numbered.get(), 1));
  CHECK_FALSE(StrippedFile{.build_id = "61626365"}.belongs_to(numbered.get(), 1));
}

TEST_CASE("a file is not its own debug file") {
  const SharedFd file = file_of(written_elf<Elf64>(id_note("abcd")));
  struct stat status {};
  REQUIRE(::fstat(file.get(), &status) == 0);
  CHECK_FALSE(StrippedFile{"61626364", status.st_dev, status.st_ino}.belongs_to(file.get(), 1));
}
