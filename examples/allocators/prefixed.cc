// SPDX-License-Identifier: BSD-2-Clause
// Allocators under other names, several in one process: a shared library with je_ and versions, one
// that is part of the program with _rjem_, one that takes its memory from libc (bump.cc, wrap.cc),
// and libc itself. Each function uses one of them.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "examples/truth/report.h"

#ifdef __clang__  // jemalloc in Rust programs has names that begin with "_"
#pragma clang diagnostic ignored "-Wreserved-identifier"
#endif

#ifdef WRAPPED
#define PREFIXES(OF) OF(tc_)
#else
#define PREFIXES(OF) OF(je_) OF(_rjem_)
#endif

extern "C" {

#define DECLARE(prefix)                            \
  void* prefix##malloc(size_t size);               \
  void* prefix##calloc(size_t count, size_t each); \
  void* prefix##realloc(void* block, size_t size); \
  void prefix##free(void* block);
PREFIXES(DECLARE)
#undef DECLARE

#ifdef WRAPPED
void* je_malloc(size_t size);
void* je_realloc(void* block, size_t size);
void je_free(void* block);
#else
int je_posix_memalign(void** out, size_t alignment, size_t size);
void* je_aligned_alloc(size_t alignment, size_t size);
void* je_memalign(size_t alignment, size_t size);
void* je_valloc(size_t size);
void je_free_sized(void* block, size_t size);
void* _rjem_mallocx(size_t size, int flags);
void* _rjem_rallocx(void* block, size_t size, int flags);
void _rjem_dallocx(void* block, int flags);
void _rjem_sdallocx(void* block, size_t size, int flags);
#endif

}  // extern "C"

namespace {

void* volatile sink = nullptr;  // makes every block escape

void* keep(void* block) {
  if (block == nullptr) truth::fail("an allocation failed");
  sink = block;
  return block;
}

void state(const char* name, int64_t live, int64_t live_count, int64_t total, int64_t total_count) {
  truth::state("functions", name, "live", live);
  truth::state("functions", name, "live_count", live_count);
  truth::state("functions", name, "total", total);
  truth::state("functions", name, "total_count", total_count);
}

}  // namespace

extern "C" {

// Each prefix in a function of its own: 30 blocks of 100 bytes kept and 20 of 50 freed; 10 of 3 x
// 70; 10 that grow from 40 to 4000.
#define USE(prefix)                                                      \
  [[gnu::noinline]] void prefix##uses_malloc() {                         \
    for (int i = 0; i < 30; ++i) keep(prefix##malloc(100));              \
    for (int i = 0; i < 20; ++i) prefix##free(keep(prefix##malloc(50))); \
  }                                                                      \
  [[gnu::noinline]] void prefix##uses_calloc() {                         \
    for (int i = 0; i < 10; ++i) keep(prefix##calloc(3, 70));            \
  }                                                                      \
  [[gnu::noinline]] void prefix##uses_realloc() {                        \
    for (int i = 0; i < 10; ++i) {                                       \
      void* const block = keep(prefix##realloc(nullptr, 40));            \
      keep(prefix##realloc(block, 4000));                                \
    }                                                                    \
  }                                                                      \
  [[gnu::noinline]] void prefix##runs() {                                \
    prefix##uses_malloc();                                               \
    state(#prefix "uses_malloc", 3000, 30, 4000, 50);                    \
    prefix##uses_calloc();                                               \
    state(#prefix "uses_calloc", 2100, 10, 2100, 10);                    \
    prefix##uses_realloc();                                              \
    state(#prefix "uses_realloc", 40000, 10, 40400, 20);                 \
  }
PREFIXES(USE)
#undef USE

#ifdef WRAPPED
// The wrapper and what it wraps have the same block: one allocation, one free.
[[gnu::noinline]] void thin_wrapper() {
  for (int i = 0; i < 30; ++i) keep(je_malloc(100));
  for (int i = 0; i < 20; ++i) je_free(keep(je_malloc(50)));
  for (int i = 0; i < 10; ++i) keep(je_realloc(keep(je_malloc(40)), 4000));
}
// Allocated through one and freed through the other.
[[gnu::noinline]] void freed_by_libc() {
  for (int i = 0; i < 20; ++i) free(keep(je_malloc(700)));
  for (int i = 0; i < 20; ++i) je_free(keep(malloc(900)));
}
#else
[[gnu::noinline]] void je_uses_aligned() {
  for (int i = 0; i < 10; ++i) {
    void* block = nullptr;
    if (je_posix_memalign(&block, 64, 1000) != 0) truth::fail("je_posix_memalign");
    keep(block);
    keep(je_aligned_alloc(128, 2000));
    keep(je_memalign(256, 3000));
    je_free_sized(keep(je_valloc(5000)), 5000);
  }
  void* block = nullptr;
  if (je_posix_memalign(&block, 3, 1000) == 0) truth::fail("alignment 3 was accepted");
}
[[gnu::noinline]] void rjem_uses_flags() {
  constexpr int by_64 = 6;
  for (int i = 0; i < 10; ++i) {
    keep(_rjem_mallocx(1000, by_64));
    _rjem_sdallocx(keep(_rjem_mallocx(300, by_64)), 300, by_64);
    _rjem_dallocx(keep(_rjem_mallocx(500, 0)), 0);
    keep(_rjem_rallocx(keep(_rjem_mallocx(20, 0)), 7000, 0));
  }
}
#endif

[[gnu::noinline]] void libc_uses_malloc() {
  for (int i = 0; i < 30; ++i) keep(malloc(100));
  for (int i = 0; i < 20; ++i) free(keep(malloc(50)));
}

}  // extern "C"

int main(int argc, char** argv) {
  truth::begin(argc, argv);
#define RUN(prefix) prefix##runs();
  PREFIXES(RUN)
#undef RUN
#ifdef WRAPPED
  thin_wrapper();
  state("thin_wrapper", 43000, 40, 44400, 70);
  freed_by_libc();
  state("freed_by_libc", 0, 0, 32000, 40);
#else
  je_uses_aligned();
  state("je_uses_aligned", 60000, 30, 110000, 40);
  rjem_uses_flags();
  state("rjem_uses_flags", 80000, 20, 88200, 50);
#endif
  libc_uses_malloc();
  state("libc_uses_malloc", 3000, 30, 4000, 50);
  return truth::end();
}
