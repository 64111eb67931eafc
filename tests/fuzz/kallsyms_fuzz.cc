// SPDX-License-Identifier: BSD-2-Clause
// Kernel symbols: names and modules are parts of the text, and a name's address is not above the
// one asked for.
#include <cstdlib>

#include "collapse/symbolize/kallsyms.h"
#include "collapse/symbolize/text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const memflame::Kallsyms kallsyms(text);
  uint64_t lowest = UINT64_MAX;
  std::string_view rest = text, line;
  while (memflame::next_line(rest, line)) {
    uint64_t address = 0;
    if (!memflame::take_hex(line, address)) continue;
    if (address != 0) lowest = std::min(lowest, address);
    for (const uint64_t near : {address - 1, address, address + 1}) {
      const memflame::Kallsyms::Name name = kallsyms.find(near);
      if (name.function.empty()) continue;
      if (text.find(name.function) == std::string::npos || name.module.empty()) std::abort();
    }
  }
  if (lowest != 0 && !kallsyms.find(lowest - 1).function.empty()) std::abort();
  return 0;
}
