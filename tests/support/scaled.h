// SPDX-License-Identifier: BSD-2-Clause
// Sizes that expose work that grows faster than its input. No test measures time: quadratic work
// takes hours at these sizes, and ctest ends it.
#pragma once

#include <cstddef>

namespace memflame {

// A tenth where sanitizers make everything ten times as slow.
constexpr size_t scaled(size_t size) {
#ifdef MEMFLAME_SANITIZED
  return size / 10;
#else
  return size;
#endif
}

}  // namespace memflame
