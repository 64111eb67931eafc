// SPDX-License-Identifier: BSD-2-Clause
// What the compiler calls for larger copies. The agent has no library, and the program's own
// functions may not be ready yet.
#include <stddef.h>  // NOLINT(modernize-deprecated-headers)

extern "C" {

__attribute__((visibility("hidden"))) void* memcpy(void* to, const void* from, size_t bytes) {
  void* const result = to;
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
  return result;
}

__attribute__((visibility("hidden"))) void* memset(void* to, int value, size_t bytes) {
  void* const result = to;
  asm volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(value) : "memory");
  return result;
}
}
