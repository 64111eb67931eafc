// SPDX-License-Identifier: BSD-2-Clause
// What `asked` and its plugin do with the functions that they have asked for.
#pragma once

#include <cstddef>
#include <cstdlib>

using Find = void* (*)(const char* name);

constexpr int asked_blocks = 100;
constexpr size_t asked_bytes = 1000;

inline void keep_blocks(Find find) {
  const auto allocate = reinterpret_cast<void* (*)(size_t)>(find("malloc"));
  const auto release = reinterpret_cast<void (*)(void*)>(find("free"));
  if (allocate == nullptr || release == nullptr) std::abort();
  for (int i = 0; i < asked_blocks; ++i) {
    void* const freed = allocate(asked_bytes);
    if (allocate(asked_bytes) == nullptr) std::abort();
    release(freed);
  }
}
