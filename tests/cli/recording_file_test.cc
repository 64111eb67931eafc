// SPDX-License-Identifier: BSD-2-Clause
#include "cli/files/recording_file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "core/error.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

TEST_CASE("a recording is its owner's, and is replaced by its copy") {
  std::string folder = (std::filesystem::temp_directory_path() / "memflame-XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const std::string path = folder + "/run.mfr",
                    copy = path + "." + std::to_string(::getpid()) + ".partial";
  {
    const std::unique_ptr<HistoryFile> file = recording_file(path, Readers::owner);
    CHECK(::write(file->create(), "old", 3) == 3);
    struct stat status {};
    CHECK(::stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);
    CHECK(::write(file->create_copy(), "newer", 5) == 5);
    file->replace();
    CHECK(std::filesystem::file_size(path) == 5);
    CHECK_FALSE(std::filesystem::exists(copy));
    file->create_copy();
    CHECK(std::filesystem::exists(copy));
  }
  CHECK_FALSE(std::filesystem::exists(copy));
  CHECK(std::filesystem::file_size(path) == 5);
  CHECK_THROWS_AS(recording_file("/dev/null", Readers::owner), Error);
  std::filesystem::remove_all(folder);
}
