// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/format_names.h"

#include <algorithm>
#include <numeric>

#include "collapse/input.h"

namespace memflame {
namespace {

// Letters to insert, delete or replace to turn one into the other (Levenshtein).
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (const char letter : a) {
    size_t diagonal = row[0]++;
    for (size_t i = 1; i <= b.size(); ++i) {
      const size_t replaced = diagonal + (letter == b[i - 1] ? 0 : 1);
      diagonal = row[i];
      row[i] = std::min({replaced, row[i] + 1, row[i - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

const std::vector<FormatFamily>& format_families() {
  static const std::vector<FormatFamily> families{
      {"perf", {"perf-data", "perf-script"}},
      {"heap", {"pprof", "jemalloc", "tcmalloc", "java-heapz", "v8-heapprofile", "v8-heap"}},
      {"go", {"pprof", "tcmalloc"}},
      {"gperftools", {"pprof", "tcmalloc"}},
      {"valgrind", {"massif", "dhat"}},
      {"node", {"v8-heapprofile", "v8-heap"}},
      {"v8", {"v8-heapprofile", "v8-heap"}},
      {"chrome", {"v8-heapprofile", "v8-heap"}},
      {"java", {"java-heapz", "jstack"}},
      {"bcc", {"memleak", "bcc-stacks"}},
      {"threads", {"gdb", "eu-stack", "jstack"}},
      {"macos", {"xctrace", "instruments", "dtrace"}},
      {"memflame", {"memflame-json", "memflame-html", "folded"}},
      {"collapsed", {"folded"}},
      {"stackcollapse", {"folded"}},
      {"ghc", {"ghc-prof"}},
      {"stap", {"systemtap"}},
  };
  return families;
}

std::string_view closest_format(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Input& input : inputs()) names.push_back(input.name);
  for (const FormatFamily& family : format_families()) names.push_back(family.name);
  constexpr size_t longest = 32;  // longer words are not compared
  if (name.size() > longest) return {};
  const auto closer = [&](std::string_view a, std::string_view b) {
    return distance(a, name) < distance(b, name);
  };
  const std::string_view best = *std::min_element(names.begin(), names.end(), closer);
  const bool close = distance(best, name) <= std::max<size_t>(1, name.size() / 3);
  return close ? best : std::string_view{};
}

}  // namespace memflame
