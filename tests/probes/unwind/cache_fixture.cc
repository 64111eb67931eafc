// SPDX-License-Identifier: BSD-2-Clause
#include "tests/probes/unwind/cache_fixture.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

namespace memflame::unwind::fixture {

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

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}
void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

}  // namespace memflame::unwind::fixture
