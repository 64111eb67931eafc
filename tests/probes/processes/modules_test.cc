// SPDX-License-Identifier: BSD-2-Clause
#include "probes/processes/modules.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "probes/processes/spaces.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

MapsLine line(uint64_t inode, uint64_t generation, const std::string& path = "/lib/x.so") {
  MapsLine made;
  made.device = 1;
  made.inode = inode;
  made.generation = generation;
  made.path = path;
  return made;
}

}  // namespace

TEST_CASE("a file is its device, inode and path") {
  Modules modules;
  const ModuleId first = modules.intern(line(5, 0));
  CHECK(modules.intern(line(5, 0)) == first);
  CHECK(modules.intern(line(6, 0)) != first);
  CHECK(modules.intern(line(5, 0, "/lib/y.so")) != first);
  CHECK(modules.intern(line(5, 0, "/lib/x.so (deleted)")) == first);
}

TEST_CASE("an inode that is used again is another file") {
  Modules modules;
  const ModuleId before = modules.intern(line(5, 100));
  const ModuleId after = modules.intern(line(5, 200));
  CHECK(before != after);
  CHECK(modules.intern(line(5, 100)) == before);
  CHECK(modules.intern(line(5, 200)) == after);
  // /proc does not name the generation, so the last one counts.
  CHECK(modules.intern(line(5, 0)) == after);
}

TEST_CASE("what was first seen in /proc learns its generation from the log") {
  Modules modules;
  const ModuleId seen = modules.intern(line(5, 0));
  CHECK(modules.intern(line(5, 100)) == seen);
  CHECK(modules.intern(line(5, 200)) != seen);
}

TEST_CASE("a program is opened before it is mapped") {
  Modules modules;
  const ModuleId own = modules.of_file("/proc/self/exe");
  REQUIRE(own);
  CHECK(modules[own].file.get() >= 0);
  CHECK(modules.of_file(modules[own].path) == own);
  CHECK(modules.opened().size() == 1);
  MapsLine mapped = line(modules[own].inode, 0, modules[own].path);
  mapped.device = modules[own].device;
  CHECK(modules.intern(mapped) == own);
  CHECK_FALSE(modules.of_file("/etc/passwd"));
  CHECK_FALSE(modules.of_file("/dev/null"));
  CHECK_FALSE(modules.of_file("/no/such/file"));
}

TEST_CASE("a file that came after a mapping is not the one that was mapped") {
  namespace fs = std::filesystem;
  using namespace std::chrono_literals;
  const std::string path = fs::temp_directory_path() / ("hot-" + std::to_string(::getpid()));
  const uint64_t before = monotonic_ns() - 1'000'000'000;
  fs::copy_file("/proc/self/exe", path);
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  Modules modules;
  const ModuleId gone = modules.intern(line(status.st_ino, 0, path));
  CHECK(modules.open(gone, ::getpid(), 1, 2, before) == gone);
  CHECK(modules[gone].file.get() < 0);
  CHECK(modules[gone].unchanged_since_ns < status.st_mtim.tv_sec * 1'000'000'000);

  std::this_thread::sleep_for(30ms);
  const ModuleId now = modules.open(gone, ::getpid(), 1, 2, monotonic_ns());
  CHECK(now != gone);
  CHECK(modules[now].file.get() >= 0);
  CHECK(modules.intern(line(status.st_ino, 0, path)) == now);
  fs::remove(path);
}

TEST_CASE("a file whose links and rights have changed since is the one that was mapped") {
  namespace fs = std::filesystem;
  using namespace std::chrono_literals;
  const std::string path = fs::temp_directory_path() / ("kept-" + std::to_string(::getpid()));
  fs::copy_file("/proc/self/exe", path);
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  std::this_thread::sleep_for(30ms);
  const uint64_t mapped = monotonic_ns();
  std::this_thread::sleep_for(30ms);
  fs::create_hard_link(path, path + "-2");
  fs::remove(path + "-2");
  fs::permissions(path, fs::perms::owner_read);
  Modules modules;
  const ModuleId kept = modules.intern(line(status.st_ino, 0, path));
  CHECK(modules.open(kept, ::getpid(), 1, 2, mapped) == kept);
  CHECK(modules[kept].file.get() >= 0);
  fs::remove(path);
}
