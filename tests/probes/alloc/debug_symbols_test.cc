// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/finding/debug_symbols.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

#include "core/elf/build_id.h"
#include "core/unique_fd.h"
#include "probes/alloc/finding/allocators.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only
namespace fs = std::filesystem;

namespace {

// A folder that serves as the target's root.
struct Root {
  std::string path;

  Root() {
    char name[] = "/tmp/memflame-debug-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    path = name;
  }
  ~Root() { fs::remove_all(path); }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;

  std::string file(const std::string& name) const {
    fs::create_directories(fs::path(path + name).parent_path());
    return path + name;
  }
};

void run(const std::string& command) { REQUIRE(::system(command.c_str()) == 0); }

// A stripped copy of a library, with a link to lib.debug, and its debug file.
void split(const Root& root, const std::string& library, const std::string& debug) {
  const std::string from = std::string(ALLOCATORS) + "/" + library;
  const std::string stripped = root.file("/lib/lib.so"), whole = root.file("/made/lib.debug");
  run("objcopy --only-keep-debug " + from + " " + whole);
  run("objcopy --strip-all --add-gnu-debuglink=" + whole + " " + from + " " + stripped);
  if (!debug.empty()) fs::copy(whole, root.file(debug));
}

std::string hex_id(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return build_id_of(file.get());
}

// How many of the stripped library's two functions are found.
size_t found_in(const Root& root) {
  const std::string path = root.path + "/lib/lib.so";
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return find_allocator(file.get(),
                        {.symbols_prefix = "toy_", .path = "/lib/lib.so", .root = root.path})
      .sites.size();
}

}  // namespace

TEST_CASE("a stripped file alone shows no allocator") {
  const Root root;
  split(root, "bundled.so", "");
  CHECK(found_in(root) == 0);
}

TEST_CASE("debug files are found by build id and by link") {
  const std::string id = hex_id(std::string(ALLOCATORS) + "/bundled.so");
  REQUIRE(id.size() == 40);
  for (const std::string& place :
       {"/usr/lib/debug/.build-id/" + id.substr(0, 2) + "/" + id.substr(2) + ".debug",
        std::string("/lib/lib.debug"), std::string("/lib/.debug/lib.debug"),
        std::string("/usr/lib/debug/lib/lib.debug")}) {
    CAPTURE(place);
    const Root root;
    split(root, "bundled.so", place);
    CHECK(found_in(root) == 2);
  }
}

TEST_CASE("offsets by a debug file are those by the file itself") {
  const Root root;
  split(root, "bundled.so", "/lib/lib.debug");
  const std::string whole = std::string(ALLOCATORS) + "/bundled.so";
  const UniqueFd before(::open(whole.c_str(), O_RDONLY | O_CLOEXEC));
  const UniqueFd after(::open((root.path + "/lib/lib.so").c_str(), O_RDONLY | O_CLOEXEC));
  const auto first = find_allocator(before.get(), {.symbols_prefix = "toy_", .path = whole});
  const auto second = find_allocator(
      after.get(), {.symbols_prefix = "toy_", .path = "/lib/lib.so", .root = root.path});
  REQUIRE(first.sites.size() == 2);
  REQUIRE(second.sites.size() == 2);
  for (size_t i = 0; i < 2; ++i) CHECK(first.sites[i].offset == second.sites[i].offset);
  CHECK(second.notes.back() == "symbols are from /lib/lib.debug");
}

TEST_CASE("another file's debug data are not taken") {
  const Root root;
  split(root, "bundled.so", "");
  fs::copy(std::string(ALLOCATORS) + "/shapes.so", root.file("/lib/lib.debug"));
  CHECK(found_in(root) == 0);
}

TEST_CASE("without build ids the checksum decides") {
  const Root root;
  split(root, "no_build_id.so", "/lib/lib.debug");
  CHECK(found_in(root) == 2);
  const UniqueFd file(::open((root.path + "/lib/lib.debug").c_str(), O_WRONLY | O_CLOEXEC));
  const off_t end = ::lseek(file.get(), 0, SEEK_END);
  REQUIRE(::pwrite(file.get(), "x", 1, end) == 1);
  CHECK(found_in(root) == 0);
}

TEST_CASE("packed symbols in the file itself") {
  const Root root;
  split(root, "bundled.so", "");
  const std::string packed = root.path + "/made/lib.debug.xz", library = root.path + "/lib/lib.so";
  run("xz -k " + root.path + "/made/lib.debug");
  run("objcopy --add-section .gnu_debugdata=" + packed + " " + library);
  CHECK(found_in(root) == 2);
}
