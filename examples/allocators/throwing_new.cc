// SPDX-License-Identifier: BSD-2-Clause
// Every operator new that can throw does so three times and is caught, every one that cannot throw
// returns null, and each allocates a block before and after. Under a profiler with return probes on
// one of them, the unwinder would meet the probe's trampoline and end the program.
//
//   throwing_new [handler]
//
// With "handler" it is the new-handler that throws. mimalloc, where it is built as C, cannot throw
// and ends the program instead, traced or not.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

volatile size_t impossible = PTRDIFF_MAX - 4096;
void* volatile sink = nullptr;  // makes every block escape
constexpr size_t gaps = 32;
constexpr std::align_val_t at{64};  // of which sizes are multiples, see matrix.cc

void throw_instead() { throw std::bad_alloc(); }

struct Kind {
  void* (*allocate)(size_t size);
  void (*release)(void* block);
};

constexpr Kind throwing[] = {
    {[](size_t size) { return ::operator new(size); }, [](void* b) { ::operator delete(b); }},
    {[](size_t size) { return ::operator new[](size); }, [](void* b) { ::operator delete[](b); }},
    {[](size_t size) { return ::operator new(size, at); },
     [](void* b) { ::operator delete(b, at); }},
    {[](size_t size) { return ::operator new[](size, at); },
     [](void* b) { ::operator delete[](b, at); }},
};
constexpr Kind silent[] = {
    {[](size_t size) { return ::operator new(size, std::nothrow); },
     [](void* b) { ::operator delete(b, std::nothrow); }},
    {[](size_t size) { return ::operator new[](size, std::nothrow); },
     [](void* b) { ::operator delete[](b, std::nothrow); }},
    {[](size_t size) { return ::operator new(size, at, std::nothrow); },
     [](void* b) { ::operator delete(b, at, std::nothrow); }},
    {[](size_t size) { return ::operator new[](size, at, std::nothrow); },
     [](void* b) { ::operator delete[](b, at, std::nothrow); }},
};

}  // namespace

extern "C" {

[[gnu::noinline]] void asks_for_too_much(const Kind& kind) { sink = kind.allocate(impossible); }
[[gnu::noinline]] void asks_for_little(const Kind& kind) { sink = kind.allocate(4352); }
[[gnu::noinline]] void gives_back(const Kind& kind) {
  sink = kind.allocate(768);
  kind.release(sink);
}

// At the first exception the unwinder of a static program sorts its tables, and keeps them.
[[gnu::noinline]] void throws_first() {
  try {
    throw 1;
  } catch (int) {
  }
}

// Runs after an exception, further down the stack than where it was thrown, at varying distances:
// remains of the failed call must not be taken for a call that still runs.
[[gnu::noinline]] void goes_on(size_t gap) {
  void* const room = __builtin_alloca(gap);
  sink = room;
  sink = std::malloc(100);
  void* const block = std::malloc(200);
  sink = block;
  std::free(block);
}
[[gnu::noinline]] bool fails_and_goes_on(const Kind& kind, size_t gap) {
  try {
    asks_for_too_much(kind);
  } catch (const std::bad_alloc&) {
    goes_on(gap);
    return true;
  }
  return false;
}

}  // extern "C"

int main(int argc, char** argv) {
  const bool handler = argc > 1 && std::strcmp(argv[1], "handler") == 0;
  if (handler) std::set_new_handler(throw_instead);
  throws_first();
  for (const Kind& kind : throwing) {
    int caught = 0;
    for (int i = 0; i < 3; ++i) {
      asks_for_little(kind);
      gives_back(kind);
      try {
        asks_for_too_much(kind);
      } catch (const std::bad_alloc&) {
        ++caught;
      }
    }
    asks_for_little(kind);
    std::printf("caught %d\n", caught);
    for (size_t gap = 0; gap < gaps * 16; gap += 16)
      if (!fails_and_goes_on(kind, gap)) return 1;
  }
  // Some allocators let the handler's exception out of the others, which ends the program.
  if (!handler) {
    int empty = 0;
    for (const Kind& kind : silent) {
      asks_for_little(kind);
      gives_back(kind);
      asks_for_too_much(kind);
      empty += sink == nullptr ? 1 : 0;
    }
    std::printf("returned nothing %d\n", empty);
  }
  return 0;
}
