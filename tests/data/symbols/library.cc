// SPDX-License-Identifier: BSD-2-Clause
// A library: what is visible, what is not, and calls through its procedure linkage table.
#include <cstdlib>
#include <cstring>

#ifdef __clang__
#define OPAQUE __attribute__((noinline))
#else
#define OPAQUE __attribute__((noipa))
#endif

namespace shelf {

__attribute__((visibility("hidden"))) OPAQUE void* secret(std::size_t size) {
  void* block = std::malloc(size);
  if (block != nullptr) std::memset(block, 1, size);
  return block;
}

OPAQUE void* visible(std::size_t size) { return static_cast<char*>(secret(size + 1)) + 1; }
OPAQUE void release(void* block) { std::free(static_cast<char*>(block) - 1); }

// The address of malloc is taken as well: then its stub is in .plt.got.
void* (*allocator())(std::size_t) { return &std::malloc; }

}  // namespace shelf
