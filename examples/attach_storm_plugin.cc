// SPDX-License-Identifier: BSD-2-Clause
// The library that attach_storm loads and unloads.
#include <cstdint>
#include <cstdlib>
#include <cstring>

extern "C" __attribute__((visibility("default"))) uint64_t storm_plugin_work(uint64_t blocks) {
  uint64_t good = 0;
  for (uint64_t i = 0; i < blocks; ++i) {
    auto* const block = static_cast<unsigned char*>(std::malloc(100 + i));
    if (block == nullptr) break;
    std::memset(block, static_cast<int>(i), 100 + i);
    good += block[99 + i] == i ? 1 : 0;
    std::free(block);
  }
  return good;
}
