// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/spool.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <set>
#include <thread>

#include "core/error.h"
#include "fleet/spool_folder.h"
#include "tests/fleet/made_window.h"
#include "tests/support/skipped.h"

using namespace memflame;
using memflame::tests::made_window;
using memflame::tests::TestFolder;
namespace fs = std::filesystem;

namespace {

constexpr uint64_t mebibyte = uint64_t{1} << 20U, ten_pages = 40960;

std::shared_ptr<Spool> spool_in(const TestFolder& folder, uint64_t most = 100 * mebibyte) {
  return std::make_shared<Spool>(folder.path / "spool", most);
}

size_t files_in(const fs::path& folder) {
  if (!fs::exists(folder)) return 0;
  return static_cast<size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

void check_books(const SpoolCounts& counts) {
  for (const auto& [name, output] : counts.outputs)
    CHECK(output.taken == output.sent + output.refused + output.dropped + output.damaged +
                              output.vanished + output.waiting);
}

}  // namespace

TEST_CASE("windows come out of the spool in the order in which they ended") {
  const TestFolder folder;
  const auto spool = spool_in(folder);
  const Window late = made_window(7), early = made_window(3);
  CHECK(spool->put(late, {"store"}) == "");
  CHECK(spool->put(early, {"store"}) == "");
  SpoolReader reader(spool, "store");
  const std::vector<WaitingWindow> windows = reader.next(10);
  REQUIRE(windows.size() == 2);
  CHECK(windows[0].window.head == early.head);
  CHECK(windows[1].window.head == late.head);
  CHECK(windows[1].window.pprof == late.pprof);
  CHECK(reader.oldest_ns() == early.head.ended_ns);
  reader.done(windows, SpoolReader::Fate::sent);
  CHECK(reader.next(10).empty());
  CHECK(!reader.oldest_ns());
  const SpoolCounts counts = spool->counts();
  CHECK(counts.taken == 2);
  CHECK(counts.waiting == 0);
  CHECK(counts.waiting_bytes == 0);
  CHECK(counts.outputs.at("store").sent == 2);
  check_books(counts);
}

TEST_CASE("each output has its own progress, and the last one frees the bytes") {
  const TestFolder folder;
  const auto spool = spool_in(folder);
  spool->put(made_window(1), {"a", "b", "a"});
  SpoolReader a(spool, "a"), b(spool, "b");
  a.done(a.next(1), SpoolReader::Fate::sent);
  CHECK(spool->counts().waiting_bytes == 4096);
  CHECK(a.next(1).empty());
  b.done(b.next(1), SpoolReader::Fate::refused);
  const SpoolCounts counts = spool->counts();
  CHECK(counts.waiting_bytes == 0);
  CHECK(counts.taken == 1);
  CHECK(counts.outputs.at("b").refused == 1);
  check_books(counts);
}

TEST_CASE("a full spool drops its oldest windows, and counts them") {
  const TestFolder folder;
  const auto spool = spool_in(folder, ten_pages);
  for (int i = 0; i < 25; ++i) CHECK(spool->put(made_window(i), {"a", "b"}) == "");
  const SpoolCounts counts = spool->counts();
  CHECK(counts.waiting_bytes <= ten_pages);
  CHECK(counts.waiting + counts.dropped_full == 25);
  CHECK(counts.waiting >= 9);
  CHECK(counts.outputs.at("a").dropped == counts.dropped_full);
  check_books(counts);
  SpoolReader reader(spool, "b");
  const auto waiting = reader.next(100);
  REQUIRE(waiting.size() == counts.waiting);
  CHECK(waiting.back().window.head.ended_ns == made_window(24).head.ended_ns);
  CHECK(spool->put(made_window(30, 2 * ten_pages), {"a"}) == "it is larger than the spool may be");
}

TEST_CASE("what was dropped is still known after a start, and so is what waits") {
  const TestFolder folder;
  SpoolCounts before;
  {
    const auto spool = spool_in(folder, ten_pages);
    for (int i = 0; i < 25; ++i) spool->put(made_window(i), {"a"});
    before = spool->counts();
  }
  const auto spool = spool_in(folder, ten_pages);
  CHECK(spool->counts() == before);
  // A damaged file of counts: they begin again, but what waits is counted.
  std::ofstream(folder.path / "spool/counts") << "memflame-spool-1 1 2 3\nx";
  const SpoolCounts after = spool_in(folder)->counts();
  CHECK(after.waiting == before.waiting);
  CHECK(after.dropped_full == 0);
  check_books(after);
}

TEST_CASE("damaged and foreign files do not stop the queue") {
  const TestFolder folder;
  const auto spool = spool_in(folder);
  for (int i = 0; i < 6; ++i) spool->put(made_window(i, 5000), {"a"});
  const fs::path waiting = folder.path / "spool/outputs/a";
  std::vector<fs::path> files(fs::directory_iterator(waiting), fs::directory_iterator{});
  std::sort(files.begin(), files.end());
  fs::resize_file(files[0], 3000);
  std::ofstream(files[1], std::ios::trunc) << "garbage";
  {
    std::fstream flip(files[2], std::ios::in | std::ios::out);
    flip.seekp(-1, std::ios::end);
    flip << 'q';
  }
  fs::remove(files[3]);
  fs::create_symlink("/etc/passwd", files[3]);
  fs::remove(files[4]);
  fs::create_directories(files[4] / "deep");
  std::ofstream(waiting / "README") << "not a window";
  // A window under the name of another one.
  spool->put(made_window(9), {"other"});
  const fs::path other = fs::directory_iterator(folder.path / "spool/outputs/other")->path();
  fs::rename(other, waiting / "0000000000000000001-00000000000000000000000000000000.window");
  SpoolReader reader(spool, "a");
  CHECK(reader.next(10).size() == 1);
  CHECK(reader.take_problem() != "");
  CHECK(reader.take_problem() == "");
  CHECK(fs::exists(waiting / "README"));
  spool->recount();
  const SpoolCounts counts = spool->counts();
  CHECK(counts.waiting == 1);
  CHECK(counts.outputs.at("a").damaged >= 4);
  check_books(counts);
}

TEST_CASE("a spool that others may write to is refused, and so are names that leave it") {
  const TestFolder folder;
  fs::create_directory(folder.path / "spool");
  ::chmod((folder.path / "spool").c_str(), 0777);
  CHECK_THROWS_AS(spool_in(folder), Error);
  ::chmod((folder.path / "spool").c_str(), 0755);
  const auto spool = spool_in(folder);
  CHECK(spool->put(made_window(1), {"../x"}) == "'../x' is not the name of an output");
  CHECK(spool->put(made_window(1), {}) == "it has no output");
  CHECK_THROWS_AS(SpoolReader(spool, ".."), Error);
  CHECK_THROWS_AS(Spool(folder.path / "no/such", 1), Error);
}

TEST_CASE("several writers and a reader at once lose nothing") {
  const TestFolder folder;
  const auto spool = spool_in(folder);
  std::vector<std::thread> writers;
  writers.reserve(4);
  for (int writer = 0; writer < 4; ++writer)
    writers.emplace_back([&spool, writer] {
      for (int i = 0; i < 50; ++i) spool->put(made_window(100 * writer + i), {"a", "b"});
    });
  std::set<std::string> ids;
  SpoolReader reader(spool, "a");
  for (int tries = 0; ids.size() < 200 && tries < 20000; ++tries) {
    const auto batch = reader.next(7);
    for (const WaitingWindow& window : batch) CHECK(ids.insert(window.window.head.id).second);
    reader.done(batch, SpoolReader::Fate::sent);
    if (batch.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (std::thread& writer : writers) writer.join();
  CHECK(ids.size() == 200);
  const SpoolCounts counts = spool->counts();
  CHECK(counts.taken == 200);
  CHECK(counts.waiting == 200);  // for b
  check_books(counts);
}

TEST_CASE("what was put is there after kill -9, and the books are right") {
  const TestFolder folder;
  const auto spool = spool_in(folder);
  std::set<std::string> put;
  for (int round = 0; round < 10; ++round) {
    int pipe[2];
    REQUIRE(::pipe(pipe) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
      for (int i = 0;; ++i) {
        const Window window = made_window(i);
        if (!spool->put(window, {"a", "b"}).empty()) ::_exit(1);
        if (::write(pipe[1], window.head.id.data(), 32) != 32) ::_exit(1);
      }
    }
    ::close(pipe[1]);
    std::string id(32, '\0');
    for (int i = 0; i < 5 + round; ++i) {
      REQUIRE(::read(pipe[0], id.data(), 32) == 32);
      put.insert(id);
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    while (::read(pipe[0], id.data(), 32) == 32) put.insert(id);
    ::close(pipe[0]);
  }
  const auto again = spool_in(folder);
  SpoolReader reader(again, "b");
  const auto waiting = reader.next(100000);
  std::set<std::string> found;
  for (const WaitingWindow& window : waiting) found.insert(window.window.head.id);
  for (const std::string& id : put) CHECK(found.contains(id));
  CHECK(found.size() <= put.size() + 10);  // those that were killed before they had said so
  const SpoolCounts counts = again->counts();
  CHECK(counts.outputs.at("b").waiting == waiting.size());
  CHECK(counts.taken == counts.waiting);
  check_books(counts);
}

TEST_CASE("what a killed writer left is removed when it is old") {
  const TestFolder folder;
  spool_in(folder);
  const fs::path fresh = folder.path / "spool/new";
  std::ofstream(fresh / "old") << "x";
  std::ofstream(fresh / "young") << "x";
  fs::last_write_time(fresh / "old", fs::file_time_type::clock::now() - std::chrono::hours(1));
  spool_in(folder);
  CHECK(!fs::exists(fresh / "old"));
  CHECK(fs::exists(fresh / "young"));
}

TEST_CASE("windows that were sent but not counted have vanished") {
  const TestFolder folder;
  const auto spool = spool_in(folder);
  for (int i = 0; i < 3; ++i) spool->put(made_window(i), {"a"});
  fs::remove(fs::directory_iterator(folder.path / "spool/outputs/a")->path());
  spool->recount();
  const SpoolCounts counts = spool->counts();
  CHECK(counts.outputs.at("a").vanished == 1);
  CHECK(counts.waiting == 2);
  check_books(counts);
}

TEST_CASE("a full disk drops the window, and nothing else breaks") {
  const TestFolder folder;
  if (::mount("none", folder.path.c_str(), "tmpfs", 0, "size=512k") != 0) {
    return skip("only root may mount a small file system");
  }
  {
    const auto spool = spool_in(folder);
    size_t taken = 0, dropped = 0;
    std::string why;
    for (int i = 0; i < 40; ++i) {
      const std::string problem = spool->put(made_window(i, 30000), {"a"});
      ++(problem.empty() ? taken : dropped);
      if (!problem.empty()) why = problem;
    }
    CHECK(taken > 5);
    CHECK(dropped > 5);
    CHECK(why.find("No space left on device") != std::string::npos);
    CHECK(files_in(folder.path / "spool/new") == 0);
    SpoolCounts counts = spool->counts();
    CHECK(counts.dropped_disk == dropped);
    CHECK(counts.outputs.at("a").dropped == dropped);
    check_books(counts);
    // Once there is room again, all goes on.
    SpoolReader reader(spool, "a");
    const auto windows = reader.next(100);
    CHECK(windows.size() == taken);
    reader.done(windows, SpoolReader::Fate::sent);
    CHECK(spool->put(made_window(50, 30000), {"a"}) == "");
    counts = spool->counts();
    CHECK(counts.outputs.at("a").waiting == 1);
    check_books(counts);
  }
  CHECK(::umount(folder.path.c_str()) == 0);
}
