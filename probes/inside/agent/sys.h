// SPDX-License-Identifier: BSD-2-Clause
// What the agent needs of the kernel and the processor. It has no library: system calls are made
// here, so errno stays as the program left it.
#pragma once

#include <asm/unistd.h>
#include <stddef.h>  // NOLINT(modernize-deprecated-headers)
#include <stdint.h>  // NOLINT(modernize-deprecated-headers)

namespace memflame::inside {

// The result, or a negative error.
inline long syscall6(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                     long f = 0) {
  long result = number;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

template <class T>
long as_word(T* pointer) {
  return reinterpret_cast<long>(pointer);
}

inline bool failed(long result) { return result < 0 && result > -4096; }

constexpr long prot_read = 1, prot_write = 2;
constexpr long map_shared = 1, map_private = 2, map_anonymous = 0x20, map_noreserve = 0x4000;
constexpr long map_fixed = 0x10;
constexpr long advise_dontneed = 4, advise_dontdump = 16, advise_wipeonfork = 18;

// `place`: the address, whose contents it replaces; null = anywhere.
inline void* map_memory(uint64_t bytes, long protection, long flags, long fd, uint64_t offset,
                        void* place = nullptr) {
  const long at =
      syscall6(__NR_mmap, as_word(place), static_cast<long>(bytes), protection,
               place != nullptr ? flags | map_fixed : flags, fd, static_cast<long>(offset));
  return failed(at) ? nullptr : reinterpret_cast<void*>(at);
}

inline void unmap_memory(void* at, uint64_t bytes) {
  syscall6(__NR_munmap, as_word(at), static_cast<long>(bytes));
}

// Private memory of zeroes that a forked child finds zeroed again. Null if there is none.
inline void* private_memory(uint64_t bytes) {
  void* const at =
      map_memory(bytes, prot_read | prot_write, map_private | map_anonymous | map_noreserve, -1, 0);
  if (at == nullptr) return nullptr;
  if (syscall6(__NR_madvise, as_word(at), static_cast<long>(bytes), advise_wipeonfork) != 0) {
    unmap_memory(at, bytes);
    return nullptr;
  }
  syscall6(__NR_madvise, as_word(at), static_cast<long>(bytes), advise_dontdump);
  return at;
}

inline void nap(long microseconds) {
  const struct { long seconds, nanoseconds; } time{0, microseconds * 1000};
  syscall6(__NR_nanosleep, as_word(&time), 0);
}

// Wakes all threads, of any process, that wait for this word of shared memory.
inline void wake(uint32_t& word) {
  constexpr long futex_wake = 1, all = 0x7fffffff;
  syscall6(__NR_futex, as_word(&word), futex_wake, all);
}

// Perhaps as early as the instructions in front of it begin.
inline uint64_t ticks() { return __builtin_ia32_rdtsc(); }
// Not before the loads in front of it have finished. Takes half the time of rdtscp.
inline uint64_t ticks_after() {
  __builtin_ia32_lfence();
  return __builtin_ia32_rdtsc();
}

// The thread's control block. Both C libraries put it at the upper end of a thread's stack.
inline uint64_t thread_block() {
  uint64_t address = 0;
  asm("mov %%fs:0, %0" : "=r"(address));
  return address;
}

}  // namespace memflame::inside
