// SPDX-License-Identifier: BSD-2-Clause
// A program with operator new of its own: a class that goes to malloc(), another that keeps a pool,
// and the global one, which either goes to malloc() or (POOL) does not.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <new>

#include "examples/truth/report.h"

namespace {

void* volatile sink = nullptr;  // makes every block escape

template <class T>
T* keep(T* block) {
  if (block == nullptr) truth::fail("an allocation failed");
  sink = block;
  return block;
}

alignas(64) char pool[1 << 20];
size_t pool_used = 0;
[[maybe_unused]] void* from_pool(size_t size) {
  size = (size + 63) / 64 * 64;
  if (size > sizeof pool - pool_used) truth::fail("the pool is too small");
  pool_used += size;
  return pool + pool_used - size;
}

}  // namespace

#ifdef POOL
[[gnu::noinline]] void* operator new(size_t size) { return from_pool(size); }
// Does something, or the compiler would leave out the calls.
[[gnu::noinline]] void operator delete(void* block) noexcept { sink = block; }
[[gnu::noinline]] void operator delete(void* block, size_t) noexcept { ::operator delete(block); }
#else
[[gnu::noinline]] void* operator new(size_t size) {
  void* const block = malloc(size);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
[[gnu::noinline]] void operator delete(void* block) noexcept { free(block); }
[[gnu::noinline]] void operator delete(void* block, size_t) noexcept { free(block); }
#endif
[[gnu::noinline]] void* operator new[](size_t size) { return ::operator new(size); }
[[gnu::noinline]] void operator delete[](void* block) noexcept { ::operator delete(block); }
[[gnu::noinline]] void operator delete[](void* block, size_t size) noexcept {
  ::operator delete(block, size);
}

namespace {

struct Own {
  char bytes[12500];
  [[gnu::noinline]] static void* operator new(size_t size) { return malloc(size); }
  [[gnu::noinline]] static void* operator new[](size_t size) { return malloc(size); }
  [[gnu::noinline]] static void operator delete(void* block) { free(block); }
  [[gnu::noinline]] static void operator delete[](void* block) { free(block); }
};
struct Plain {
  char bytes[12500];
};

}  // namespace

extern "C" {

[[gnu::noinline]] void news_of_class() {
  for (int i = 0; i < 4; ++i) keep(new Own);
  for (int i = 0; i < 4; ++i) delete keep(new Own);
}
[[gnu::noinline]] void news_of_class_array() {
  keep(new Own[1]);
  keep(new Own[3]);
  delete[] keep(new Own[2]);
}
[[gnu::noinline]] void news_global() {
  for (int i = 0; i < 8; ++i) keep(new Plain);
  for (int i = 0; i < 4; ++i) delete keep(new Plain);
}
[[gnu::noinline]] void news_global_array() {
  for (int i = 0; i < 8; ++i) keep(new Plain[1]);
  for (int i = 0; i < 4; ++i) delete[] keep(new Plain[1]);
}

}  // extern "C"

int main(int argc, char** argv) {
  truth::begin(argc, argv);
  struct Site {
    const char* name;
    void (*run)();
    int64_t live_count, live, total_count, total;
  };
  for (const Site& site : {
           Site{"news_of_class", news_of_class, 4, 50000, 8, 100000},
           Site{"news_of_class_array", news_of_class_array, 2, 50000, 3, 75000},
           Site{"news_global", news_global, 8, 100000, 12, 150000},
           Site{"news_global_array", news_global_array, 8, 100000, 12, 150000},
       }) {
    site.run();
    truth::state("functions", site.name, "live", site.live);
    truth::state("functions", site.name, "live_count", site.live_count);
    truth::state("functions", site.name, "total", site.total);
    truth::state("functions", site.name, "total_count", site.total_count);
  }
  return truth::end();
}
