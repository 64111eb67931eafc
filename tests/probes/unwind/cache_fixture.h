// SPDX-License-Identifier: BSD-2-Clause
// A cache of unwind tables in a temporary folder.
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>

#include <cstddef>
#include <filesystem>
#include <string>

#include "core/unique_fd.h"
#include "probes/unwind/cache.h"
#include "probes/unwind/cache_file.h"

namespace memflame::unwind::fixture {

namespace fs = std::filesystem;

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

bool equal(const Table& a, const unwind::Table& b);
size_t files_in(const std::string& folder);
std::string read_text(const std::string& path);
void write_text(const std::string& path, const std::string& text);

}  // namespace memflame::unwind::fixture
