// SPDX-License-Identifier: BSD-2-Clause
// Perf maps: for any text, an address has the name of the last line that covers it.
#include <cstdlib>
#include <string>

#include "collapse/symbolize/perf_map.h"
#include "collapse/symbolize/text.h"

namespace {

// The same in the simplest way: looks at all lines for every address.
std::string_view last_line_over(std::string_view text, uint64_t address) {
  std::string_view line, name;
  while (memflame::next_line(text, line)) {
    uint64_t start = 0, size = 0;
    if (!memflame::take_hex(line, start) || !memflame::take_hex(line, size) || line.empty())
      continue;
    if (size > UINT64_MAX - start) continue;
    if (address >= start && address - start < size) name = line;
  }
  return name.substr(0, memflame::PerfMap::max_name);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const memflame::PerfMap map(text);
  std::string_view rest = text, line;
  while (memflame::next_line(rest, line)) {
    uint64_t start = 0, length = 0;
    if (!memflame::take_hex(line, start) || !memflame::take_hex(line, length)) continue;
    for (const uint64_t address : {start - 1, start, start + length - 1, start + length})
      if (map.find(address) != last_line_over(text, address)) std::abort();
  }
  return 0;
}
