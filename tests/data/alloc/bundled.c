// SPDX-License-Identifier: BSD-2-Clause
// A program's own allocator: with a prefix, and without being exported.
#include <stddef.h>

#define HIDDEN __attribute__((visibility("hidden"), noinline))

static char arena[1 << 16];
static size_t used;

HIDDEN void* toy_malloc(size_t size) {
  if (size > sizeof(arena) - used) return NULL;
  used += size;
  return arena + used - size;
}
HIDDEN void toy_free(void* block) {
  if (block != NULL) *(char*)block = 0;
}
// Alone it is no allocator.
HIDDEN void je_free(void* block) { toy_free(block); }

int toy(void) {
  void* block = toy_malloc(10);
  je_free(block);
  return block != NULL;
}
