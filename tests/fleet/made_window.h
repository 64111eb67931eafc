// SPDX-License-Identifier: BSD-2-Clause
// Windows and folders for tests.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "fleet/window.h"

namespace memflame::tests {

// Removed with all that is in it.
class TestFolder {
 public:
  TestFolder() {
    std::string name = std::filesystem::temp_directory_path() / "memflame_fleet_XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path = name;
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::filesystem::path path;
};

// The number'th minute of a service.
inline Window made_window(int number, size_t profile_bytes = 100,
                          const std::string& service = "checkout") {
  Window window;
  window.head.id = new_window_id();
  window.head.began_ns = int64_t{number} * 60'000'000'000;
  window.head.ended_ns = window.head.began_ns + 60'000'000'000;
  window.head.labels = {{"host", "a"}, {"service", service}};
  window.head.figures = {{"resident_bytes", 1e9}};
  window.pprof = std::string(profile_bytes, 'p');
  return window;
}

}  // namespace memflame::tests
