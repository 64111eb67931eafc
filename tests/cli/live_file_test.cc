// SPDX-License-Identifier: BSD-2-Clause
#include "cli/files/live_file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "core/error.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

void write_text(int fd, const std::string& text) {
  REQUIRE(::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
}

}  // namespace

TEST_CASE("live file: is read while it grows, and again from its beginning") {
  LiveFile live;
  const auto goes_on = std::make_shared<std::atomic<bool>>(false);
  CHECK_THROWS_AS(live.open("run", goes_on), Error);
  CHECK(live.size() == 0);
  const std::unique_ptr<HistoryFile> file = live.observed(private_recording());
  const int fd = file->create();
  write_text(fd, "one");
  CHECK(live.size() == 3);
  Source source = live.open("run", goes_on);
  CHECK(source.name() == "run");
  CHECK(source.all() == "one");
  write_text(fd, " and two");
  CHECK(source.again().all() == "one and two");
  CHECK(live.size() == 11);
}

TEST_CASE("live file: a copy takes the place of the file, whose readers go on") {
  LiveFile live;
  const auto goes_on = std::make_shared<std::atomic<bool>>(false);
  const std::unique_ptr<HistoryFile> file = live.observed(private_recording());
  write_text(file->create(), "old");
  const Source before = live.open("run", goes_on);
  write_text(file->create_copy(), "new");
  CHECK(live.open("run", goes_on).all() == "old");
  file->replace();
  CHECK(live.open("run", goes_on).all() == "new");
  CHECK(before.again().all() == "old");
  write_text(file->create_copy(), "dropped");
  file->discard_copy();
  CHECK(live.open("run", goes_on).all() == "new");
}

TEST_CASE("live file: reading ends when it is given up") {
  LiveFile live;
  const auto gives_up = std::make_shared<std::atomic<bool>>(false);
  const std::unique_ptr<HistoryFile> file = live.observed(private_recording());
  write_text(file->create(), std::string(1'000'000, 'x'));
  Source source = live.open("run", gives_up);
  *gives_up = true;
  CHECK_THROWS_AS(source.all(), Error);
}

TEST_CASE("live file: a private recording has no name, and only its owner may read it") {
  const std::unique_ptr<HistoryFile> file = private_recording();
  struct stat status {};
  REQUIRE(::fstat(file->create(), &status) == 0);
  CHECK(status.st_nlink == 0);
  CHECK((status.st_mode & 0777) == 0600);
}
