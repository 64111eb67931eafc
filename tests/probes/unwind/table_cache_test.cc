// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "probes/unwind/cache.h"
#include "probes/unwind/cache_file.h"

namespace fs = std::filesystem;
using namespace memflame;          // NOLINT(google-build-using-namespace): tests only
using namespace memflame::unwind;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr unsigned nobody = 65534;

// A temporary folder with one program to make tables of.
struct Place {
  std::string base;

  Place() {
    std::string pattern = (fs::temp_directory_path() / "memflame-cache-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    base = pattern;
    fs::copy_file(UNWIND "/library.so", program());
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() { fs::remove_all(base); }

  std::string program() const { return base + "/program"; }
  std::string cache() const { return base + "/cache"; }
  std::string folder() const { return cache() + "/memflame/unwind"; }
  UniqueFd open() const { return UniqueFd(::open(program().c_str(), O_RDONLY | O_CLOEXEC)); }
  FileStamp stamp() const {
    const auto found = file_stamp(open().get());
    REQUIRE(found);
    return *found;
  }
  std::string kept() const { return folder() + "/" + TableCache::file_name(stamp()); }
};

bool equal(const Table& a, const Table& b) {
  const auto same = [](const auto& x, const auto& y) {
    return x.size() == y.size() &&
           (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(x[0])) == 0);
  };
  return a.base == b.base && a.entries == b.entries && a.malformed == b.malformed &&
         same(a.rows, b.rows) && same(a.segments, b.segments);
}

size_t files_in(const std::string& folder) {
  return static_cast<size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

unsigned mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}
void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

}  // namespace

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

TEST_CASE("nobody else can read or write what is kept") {
  const Place place;
  const TableCache cache(place.cache());
  table_of_file(place.open().get(), &cache);
  CHECK(mode_of(place.cache()) == 0700);
  CHECK(mode_of(place.cache() + "/memflame") == 0700);
  CHECK(mode_of(place.folder()) == 0700);
  CHECK(mode_of(place.kept()) == 0600);
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
