// SPDX-License-Identifier: BSD-2-Clause
// Symbol names: the result is bounded, and is empty only if the name was.
#include <cstdint>
#include <cstdlib>

#include "collapse/symbolize/demangle.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string tail(reinterpret_cast<const char*>(data), size);
  const char* prefixes[] = {"", "_Z", "_R"};
  for (const char* prefix : prefixes) {
    const std::string name = prefix + tail;
    if (memflame::demangle(name).size() > 65536 + 64) std::abort();
  }
  return 0;
}
