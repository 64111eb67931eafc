// SPDX-License-Identifier: BSD-2-Clause
#include "core/perf_map.h"

#include <doctest/doctest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

TEST_CASE("a perf map must be a file of its user's, or of root's") {
  char root[] = "/tmp/memflame-perf-map-XXXXXX";
  REQUIRE(::mkdtemp(root) != nullptr);
  std::filesystem::create_directory(root + std::string("/tmp"));
  const std::string path = root + perf_map_path(12);
  CHECK_FALSE(read_perf_map(root, 12, ::geteuid()));
  std::ofstream(path) << "10 20 f\n";
  CHECK(read_perf_map(root, 12, ::geteuid()) == "10 20 f\n");
  CHECK(read_perf_map(root, 12, std::nullopt).has_value() == (::geteuid() == 0));
  std::filesystem::create_symlink(path, root + perf_map_path(13));
  CHECK_FALSE(read_perf_map(root, 13, ::geteuid()));
  if (::chown(path.c_str(), 77, 77) == 0) {
    CHECK(read_perf_map(root, 12, 77));
    CHECK_FALSE(read_perf_map(root, 12, 78));
    CHECK_FALSE(read_perf_map(root, 12, std::nullopt));
  }
  std::filesystem::remove_all(root);
}

TEST_CASE("links to the folder of a perf map stay in the root") {
  char root[] = "/tmp/memflame-perf-map-XXXXXX";
  char host[] = "/var/tmp/memflame-perf-map-XXXXXX";
  REQUIRE(::mkdtemp(root) != nullptr);
  REQUIRE(::mkdtemp(host) != nullptr);
  std::filesystem::create_directory(host + std::string("/tmp"));
  std::ofstream(host + perf_map_path(12)) << "10 20 host\n";
  std::filesystem::create_symlink(host + std::string("/tmp"), root + std::string("/tmp"));
  CHECK_FALSE(read_perf_map(root, 12, ::geteuid()));
  std::filesystem::create_directories(root + std::string(host) + "/tmp");
  std::ofstream(root + std::string(host) + perf_map_path(12)) << "10 20 f\n";
  CHECK(read_perf_map(root, 12, ::geteuid()) == "10 20 f\n");
  std::filesystem::remove_all(root);
  std::filesystem::remove_all(host);
}
