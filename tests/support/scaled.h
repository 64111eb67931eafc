// SPDX-License-Identifier: BSD-2-Clause
// Sizes that show what grows faster than its input. No test measures time: what is quadratic takes
// hours at these sizes, and ctest ends it.
#pragma once

#include <cstddef>

namespace memflame {

// A tenth where sanitizers make everything ten times as slow.
constexpr size_t scaled(size_t size) {
#ifdef __SANITIZE_ADDRESS__
  return size / 10;
#else
  return size;
#endif
}

}  // namespace memflame
