// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "probes/unwind/cache.h"
#include "probes/unwind/cache_file.h"
#include "tests/probes/unwind/cache_fixture.h"

using namespace memflame;                   // NOLINT(google-build-using-namespace): tests only
using namespace memflame::unwind;           // NOLINT(google-build-using-namespace): tests only
using namespace memflame::unwind::fixture;  // NOLINT(google-build-using-namespace): tests only

TEST_CASE("what was stored is loaded, by the next run too") {
  const Place place;
  const Table made = make_table(ImageBytes(place.open().get()));
  REQUIRE(made.rows.size() > 10);
  {
    const TableCache cache(place.cache());
    CHECK(cache.problem().empty());
    CHECK(!cache.load(place.stamp()));
    CHECK(equal(table_of_file(place.open().get(), &cache).table, made));
  }
  const TableCache cache(place.cache());
  const auto loaded = cache.load(place.stamp());
  REQUIRE(loaded);
  CHECK(equal(*loaded, made));
  CHECK(equal(table_of_file(place.open().get(), &cache).table, made));
  CHECK(files_in(place.folder()) == 1);
  CHECK(fs::path(place.kept()).filename().string().find('-') != std::string::npos);
}

TEST_CASE("table_of_file takes what is in the cache, and makes the rest") {
  const Place place;
  const TableCache cache(place.cache());
  Table marked = make_table(ImageBytes(place.open().get()));
  marked.entries = 4711;  // cannot come from the file
  REQUIRE(cache.store(place.stamp(), marked));
  CHECK(table_of_file(place.open().get(), &cache).table.entries == 4711);
  CHECK(table_of_file(place.open().get(), &cache).from_cache);
  CHECK(table_of_file(place.open().get(), nullptr).table.entries != 4711);
}

TEST_CASE("a file that changes is another file") {
  const Place place;
  const TableCache cache(place.cache());
  table_of_file(place.open().get(), &cache);
  const FileStamp before = place.stamp();
  SUBCASE("replaced") {
    fs::copy_file(place.program(), place.base + "/new");
    fs::rename(place.base + "/new", place.program());
  }
  SUBCASE("touched") {
    const timespec times[2] = {{0, UTIME_NOW}, {1, 0}};
    REQUIRE(::utimensat(AT_FDCWD, place.program().c_str(), times, 0) == 0);
  }
  const FileStamp after = place.stamp();
  CHECK(before != after);
  CHECK(TableCache::file_name(before) != TableCache::file_name(after));
  CHECK(!cache.load(after));
}

TEST_CASE("nothing is kept of what is not a program, or has no name any more") {
  const Place place;
  const TableCache cache(place.cache());
  const UniqueFd text(::open(UNWIND "/../CTestTestfile.cmake", O_RDONLY | O_CLOEXEC));
  REQUIRE(text);
  CHECK(table_of_file(text.get(), &cache).table.rows.empty());
  const UniqueFd program = place.open();
  fs::remove(place.program());
  CHECK(!table_of_file(program.get(), &cache).table.rows.empty());
  CHECK(table_of_file(-1, &cache).table.rows.empty());
  const UniqueFd zeros(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  CHECK(table_of_file(zeros.get(), &cache).table.rows.empty());
  CHECK(files_in(place.folder()) == 0);
}

TEST_CASE("where the environment says, and absolute paths only") {
  const Place place;
  const std::string home = place.base + "/home";
  fs::create_directory(home);
  const auto made = [&](const char* cache, const std::string& home_now) {
    ::setenv("HOME", home_now.c_str(), 1);
    if (cache == nullptr)
      ::unsetenv("XDG_CACHE_HOME");
    else
      ::setenv("XDG_CACHE_HOME", cache, 1);
    return TableCache::of_user().problem();
  };
  const std::string xdg = place.base + "/xdg/deep";
  CHECK(made(xdg.c_str(), home).empty());
  CHECK(fs::is_directory(xdg + "/memflame/unwind"));
  CHECK(!fs::exists(home + "/.cache"));
  CHECK(made("relative", home).empty());
  CHECK(fs::is_directory(home + "/.cache/memflame/unwind"));
  CHECK(!fs::exists("relative"));
  CHECK(!made("", "relative").empty());
  CHECK(!made(nullptr, "").empty());
  CHECK(!made("/proc/nowhere", home).empty());
}

TEST_CASE("what was not used for longest goes first") {
  const Place place;
  const Table table = make_table(ImageBytes(place.open().get()));
  FileStamp stamp = place.stamp();
  const auto numbered = [&](uint64_t number) {
    FileStamp other = stamp;
    other.inode = number;
    return other;
  };
  const auto age = [&](uint64_t number, time_t seconds) {
    const timespec times[2] = {{seconds, 0}, {seconds, 0}};
    const std::string path = place.folder() + "/" + TableCache::file_name(numbered(number));
    REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
  };
  const auto fill = [&](const TableCache& cache) {
    for (uint64_t i = 1; i <= 3; ++i) {
      REQUIRE(cache.store(numbered(i), table));
      age(i, static_cast<time_t>(1000 * i));
    }
    REQUIRE(cache.load(numbered(1)));  // used now
    REQUIRE(cache.store(numbered(4), table));
    CHECK(cache.load(numbered(1)));
    CHECK(!cache.load(numbered(2)));
    CHECK(cache.load(numbered(3)));
    CHECK(cache.load(numbered(4)));
  };
  SUBCASE("by number") { fill(TableCache(place.cache(), {uint64_t{1} << 30, 3})); }
  SUBCASE("by size") {
    const TableCache first(place.cache());
    REQUIRE(first.store(numbered(1), table));
    const uint64_t size = fs::file_size(place.folder() + "/" + TableCache::file_name(numbered(1)));
    fill(TableCache(place.cache(), {size * 3 + size / 2, 1000}));
  }
}

TEST_CASE("several threads at once") {
  const Place place;
  const TableCache cache(place.cache());
  const Table made = make_table(ImageBytes(place.open().get()));
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  threads.reserve(wrong.size());
  for (int& count : wrong)
    threads.emplace_back([&] {
      const UniqueFd file = place.open();
      for (int i = 0; i < 50; ++i)
        if (!equal(table_of_file(file.get(), i % 2 ? &cache : nullptr).table, made) ||
            !cache.store(*file_stamp(file.get()), made))
          ++count;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4, 0));
  CHECK(files_in(place.folder()) == 1);
}

TEST_CASE("a file without a build id") {
  const Place place;
  std::string text = read_text(place.program());
  const size_t note = text.find(std::string("\x14\0\0\0\x03\0\0\0GNU\0", 12));
  REQUIRE(note != std::string::npos);
  text[note + 8] = 'X';
  write_text(place.program(), text);
  CHECK(TableCache::file_name(place.stamp()).starts_with("none-"));
}
