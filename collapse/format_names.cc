// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/format_names.h"

#include "collapse/input.h"
#include "core/nearest.h"

namespace memflame {
const std::vector<FormatFamily>& format_families() {
  static const std::vector<FormatFamily> families{
      {"perf", {"perf-data", "perf-script"}},
      {"heap",
       {"pprof", "jemalloc", "tcmalloc", "java-heapz", "v8-heapprofile", "v8-snapshot", "v8-heap"}},
      {"go", {"pprof", "tcmalloc"}},
      {"gperftools", {"pprof", "tcmalloc"}},
      {"valgrind", {"massif", "dhat", "memcheck"}},
      {"sanitizer", {"lsan"}},
      {"asan", {"lsan"}},
      {"node", {"v8-heapprofile", "v8-snapshot", "v8-heap"}},
      {"v8", {"v8-heapprofile", "v8-snapshot", "v8-heap"}},
      {"chrome", {"v8-heapprofile", "v8-snapshot", "v8-heap"}},
      {"java", {"jfr", "java-heapz", "jstack"}},
      {"python", {"tracemalloc", "memray-page", "memray-stats"}},
      {"memray", {"memray-page", "memray-stats"}},
      {"bcc", {"memleak", "bcc-stacks"}},
      {"threads", {"gdb", "eu-stack", "jstack"}},
      {"macos", {"leaks", "malloc-history", "sample", "xctrace", "instruments", "dtrace"}},
      {"windows", {"umdh"}},
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
  return nearest_name(name, names);
}

}  // namespace memflame
