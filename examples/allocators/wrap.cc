// SPDX-License-Identifier: BSD-2-Clause
// An allocator that has none of its own memory: it takes libc's, with a word in front or without.
#include <cstddef>
#include <cstdlib>

#define WRAP_API extern "C" __attribute__((noinline, visibility("default")))

namespace {
constexpr size_t front = 32;
char* in_front_of(void* block) { return static_cast<char*>(block) - front; }
}  // namespace

WRAP_API void* tc_malloc(size_t size) {
  char* const block = static_cast<char*>(malloc(size + front));
  return block == nullptr ? nullptr : block + front;
}
WRAP_API void* tc_calloc(size_t count, size_t each) {
  char* const block = static_cast<char*>(calloc(1, count * each + front));
  return block == nullptr ? nullptr : block + front;
}
WRAP_API void* tc_realloc(void* old, size_t size) {
  if (old == nullptr) return tc_malloc(size);
  char* const block = static_cast<char*>(realloc(in_front_of(old), size + front));
  return block == nullptr ? nullptr : block + front;
}
WRAP_API void tc_free(void* block) {
  if (block != nullptr) free(in_front_of(block));
}

// The same addresses as libc's.
WRAP_API void* je_malloc(size_t size) { return malloc(size); }
WRAP_API void* je_realloc(void* old, size_t size) { return realloc(old, size); }
WRAP_API void je_free(void* block) { free(block); }
