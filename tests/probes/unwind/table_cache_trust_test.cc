// SPDX-License-Identifier: BSD-2-Clause
// What the cache does not believe, and who may not see it.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>

#include "probes/unwind/cache.h"
#include "probes/unwind/cache_file.h"
#include "tests/probes/unwind/cache_fixture.h"

using namespace memflame;                   // NOLINT(google-build-using-namespace): tests only
using namespace memflame::unwind;           // NOLINT(google-build-using-namespace): tests only
using namespace memflame::unwind::fixture;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr unsigned nobody = 65534;

unsigned mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

}  // namespace

TEST_CASE("nobody else can read or write what is kept") {
  const Place place;
  const TableCache cache(place.cache());
  table_of_file(place.open().get(), &cache);
  CHECK(mode_of(place.cache()) == 0700);
  CHECK(mode_of(place.cache() + "/memflame") == 0700);
  CHECK(mode_of(place.folder()) == 0700);
  CHECK(mode_of(place.kept()) == 0600);
}

TEST_CASE("damaged, forged or foreign files are not taken, and made anew") {
  const Place place;
  const TableCache cache(place.cache());
  Table marked = make_table(ImageBytes(place.open().get()));
  marked.entries = 4711;
  const FileStamp stamp = place.stamp();
  REQUIRE(cache.store(stamp, marked));
  const std::string kept = place.kept(), whole = read_text(kept);
  REQUIRE(whole.size() > 200);

  SUBCASE("others may read or write it") { REQUIRE(::chmod(kept.c_str(), 0640) == 0); }
  SUBCASE("everybody may write it") { REQUIRE(::chmod(kept.c_str(), 0602) == 0); }
  SUBCASE("another user's file") {
    if (::geteuid() != 0) {
      MESSAGE("not root: owners are not tested");
      return;
    }
    REQUIRE(::chown(kept.c_str(), nobody, nobody) == 0);
  }
  SUBCASE("a symlink, even to a good one") {
    fs::rename(kept, place.base + "/elsewhere");
    fs::create_symlink(place.base + "/elsewhere", kept);
  }
  SUBCASE("a FIFO, which is not waited for") {
    fs::remove(kept);
    REQUIRE(::mkfifo(kept.c_str(), 0600) == 0);
  }
  SUBCASE("a folder") {
    fs::remove(kept);
    fs::create_directory(kept);
    CHECK(!cache.load(stamp));
    CHECK(table_of_file(place.open().get(), &cache).table.entries != 4711);
    CHECK(files_in(place.folder()) == 1);  // no temporary file is left
    return;
  }
  SUBCASE("empty") { write_text(kept, ""); }
  SUBCASE("cut short in the header") { fs::resize_file(kept, 100); }
  SUBCASE("cut short in the rows") { fs::resize_file(kept, whole.size() - 8); }
  SUBCASE("longer") { write_text(kept, whole + std::string(8, '\0')); }
  SUBCASE("one row too many is claimed") {
    auto text = whole;
    ++text[16];
    write_text(kept, text);
  }
  SUBCASE("of another file") {
    FileStamp other = stamp;
    SUBCASE("inode") { ++other.inode; }
    SUBCASE("device") { ++other.device; }
    SUBCASE("size") { ++other.size; }
    SUBCASE("modified") { ++other.modified; }
    SUBCASE("changed") { ++other.changed; }
    SUBCASE("build id") { other.build_id.back() ^= std::byte{1}; }
    SUBCASE("no build id") { other.build_id.clear(); }
    REQUIRE(cache.store(other, marked));
    fs::rename(place.folder() + "/" + TableCache::file_name(other), kept);
  }
  // With a correct checksum: written by a faulty program, or by hand.
  SUBCASE("rows out of order") {
    std::swap(marked.rows[2], marked.rows[3]);
    REQUIRE(cache.store(stamp, marked));
  }
  SUBCASE("two rows at one place") {
    marked.rows[3].pc = marked.rows[2].pc;
    REQUIRE(cache.store(stamp, marked));
  }
  SUBCASE("no row at the beginning") {
    marked.rows[0].pc = 1;
    REQUIRE(cache.store(stamp, marked));
  }
  SUBCASE("a kind of row that there is not") {
    marked.rows[2].kind = row_rbx + 1;
    REQUIRE(cache.store(stamp, marked));
  }
  SUBCASE("a place of rbx where a row has none") {
    for (const row_u8 kind : {row_plt, row_signal, row_end, row_fp, row_bad})
      CHECK(!is_kind(kind | 2 << 4));
    marked.rows[2].kind = row_end | row_rbx_lost << 4;
    REQUIRE(cache.store(stamp, marked));
  }
  SUBCASE("a place of rbx and no kind of row") {
    marked.rows[2].kind = 2 << 4;
    REQUIRE(cache.store(stamp, marked));
  }
  SUBCASE("no kind of row") {
    marked.rows[2].kind = row_none;
    REQUIRE(cache.store(stamp, marked));
  }
  SUBCASE("another base than that of the code") {
    ++marked.base;
    REQUIRE(cache.store(stamp, marked));
  }
  SUBCASE("no segments") {
    marked.segments.clear();
    REQUIRE(cache.store(stamp, marked));
  }
  CHECK(!cache.load(stamp));
  const auto [table, from_cache] = table_of_file(place.open().get(), &cache);
  CHECK(!from_cache);
  CHECK(table.entries != 4711);
  CHECK(!table.rows.empty());
  // It has replaced the file that could not be used.
  const auto again = cache.load(stamp);
  REQUIRE(again);
  CHECK(equal(*again, table));
}

TEST_CASE("every flipped bit is noticed") {
  const Place place;
  const TableCache cache(place.cache());
  table_of_file(place.open().get(), &cache);
  const FileStamp stamp = place.stamp();
  const std::string kept = place.kept(), whole = read_text(kept);
  size_t taken = 0;
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string text = whole;
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << (bit % 8)));
    write_text(kept, text);
    if (cache.load(stamp)) ++taken;
  }
  CHECK(taken == 0);
  write_text(kept, whole);
  CHECK(cache.load(stamp));
}

TEST_CASE("folders that others could write to are not used") {
  const Place place;
  fs::create_directories(place.folder());
  fs::permissions(place.cache() + "/memflame", fs::perms(0700));
  fs::permissions(place.folder(), fs::perms(0700));
  CHECK(TableCache(place.cache()).problem().empty());
  SUBCASE("memflame can be written by the group") {
    fs::permissions(place.cache() + "/memflame", fs::perms(0770));
  }
  SUBCASE("unwind can be written by everybody") {
    fs::permissions(place.folder(), fs::perms(0702));
  }
  SUBCASE("unwind is a symlink") {
    fs::rename(place.folder(), place.base + "/real");
    fs::create_symlink(place.base + "/real", place.folder());
  }
  SUBCASE("memflame is a symlink") {
    fs::rename(place.cache() + "/memflame", place.base + "/real");
    fs::create_symlink(place.base + "/real", place.cache() + "/memflame");
  }
  SUBCASE("unwind is a file") {
    fs::remove(place.folder());
    write_text(place.folder(), "");
  }
  if (::geteuid() == 0) {
    SUBCASE("unwind is another user's") {
      REQUIRE(::chown(place.folder().c_str(), nobody, nobody) == 0);
    }
    SUBCASE("memflame is another user's") {
      REQUIRE(::chown((place.cache() + "/memflame").c_str(), nobody, nobody) == 0);
    }
    SUBCASE("the folder for caches is another user's") {
      REQUIRE(::chown(place.cache().c_str(), nobody, nobody) == 0);
    }
  } else {
    MESSAGE("not root: owners are not tested");
  }
  const TableCache cache(place.cache());
  CHECK(!cache.problem().empty());
  CHECK(!cache.store(place.stamp(), Table{}));
  CHECK(!cache.load(place.stamp()));
  // This is not an error: the table is made.
  CHECK(!table_of_file(place.open().get(), &cache).table.rows.empty());
}

TEST_CASE("root leaves nothing in the home of another user") {
  if (::geteuid() != 0) {
    MESSAGE("not root: not tested");
    return;
  }
  const Place place;
  const std::string home = place.base + "/home";
  fs::create_directory(home);
  REQUIRE(::chown(home.c_str(), nobody, nobody) == 0);
  CHECK(!TableCache(home + "/.cache").problem().empty());
  CHECK(files_in(home) == 0);
}
