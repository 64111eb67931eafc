// SPDX-License-Identifier: BSD-2-Clause
// System calls made in the calling function itself. The C library's wrappers keep no frame, so a
// stack that follows frame pointers from inside them has to guess the function that called the
// wrapper; a ground-truth program must not depend on that guess, so it has both kinds.
#pragma once

#include <cstdint>

namespace truth {

[[gnu::always_inline]] inline int64_t raw_syscall(int64_t number, int64_t a = 0, int64_t b = 0,
                                                  int64_t c = 0, int64_t d = 0, int64_t e = 0,
                                                  int64_t f = 0) {
  int64_t result = number;
  register int64_t r10 asm("r10") = d;
  register int64_t r8 asm("r8") = e;
  register int64_t r9 asm("r9") = f;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

// Pointers as the kernel's plain numbers and back; ground-truth programs compute with both.
template <class T>
[[gnu::always_inline]] inline int64_t number(T* pointer) {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(pointer));
}
[[gnu::always_inline]] inline char* pointer(int64_t address) {
  return reinterpret_cast<char*>(
      static_cast<uintptr_t>(address));  // NOLINT(performance-no-int-to-ptr)
}

inline constexpr int64_t page = 4096;

}  // namespace truth
