// SPDX-License-Identifier: BSD-2-Clause
// What the functions of the programs about stacks do: one event of the kind that is being watched,
// in the function itself, so that this is the innermost of the program's functions in the stack.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

// A function that stays what it is: not inlined, not cloned, called as it stands.
#ifdef __clang__
#define OWN_FRAME __attribute__((noinline))
#else
#define OWN_FRAME __attribute__((noipa))
#endif

namespace chain {

enum class Kind {
  none,   // nothing, to have all code and stacks touched before it counts
  alloc,  // malloc()
  brk,    // sbrk()
  mmap,   // mmap()
  fault,  // the first write to a page
  large,  // a malloc() that makes the C library call mmap()
};
inline Kind kind = Kind::none;
inline char* fresh_page = nullptr;  // the next that was not written to

// The kind that a word of the command line names; ends the program when it is none.
Kind kind_named(const char* word);

// From now on event() does this. Prepares what it takes.
void choose(Kind wanted);

// Between rounds of at most this many events of Kind::fault: all pages are fresh again.
constexpr size_t fresh_pages = 1024;
void renew_pages();

// States that the function has `events` events of the kind chosen, and its callers.
void state(const char* leaf, const char* callers, int64_t events);

constexpr size_t small_bytes = 100, page_bytes = 4096, large_bytes = 256 << 10;

// The compiler can neither turn the call before this into a jump nor leave the block out.
[[gnu::always_inline]] inline void keep(const void* block = nullptr) {
  asm volatile("" : : "r"(block) : "memory");
}

[[gnu::always_inline]] inline void event() {
  switch (kind) {
    case Kind::none:
      break;
    case Kind::alloc:
    case Kind::large: {
      void* const block = std::malloc(kind == Kind::alloc ? small_bytes : large_bytes);
      keep(block);
      std::free(block);
      break;
    }
    case Kind::brk:
      keep(sbrk(page_bytes));
      sbrk(-static_cast<intptr_t>(page_bytes));
      break;
    case Kind::mmap: {
      void* const pages = mmap(nullptr, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      keep(pages);
      munmap(pages, page_bytes);
      break;
    }
    case Kind::fault:
      *static_cast<volatile char*>(fresh_page) = 1;
      fresh_page += page_bytes;
      break;
  }
  keep();
}

}  // namespace chain
