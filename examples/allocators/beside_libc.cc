// SPDX-License-Identifier: BSD-2-Clause
// libc's allocator and a second one in one process, which is called by its own names.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "examples/truth/report.h"

extern "C" {
void* mi_malloc(size_t size);
void* mi_zalloc(size_t size);
void* mi_calloc(size_t count, size_t each);
void* mi_realloc(void* block, size_t size);
void* mi_malloc_aligned(size_t size, size_t alignment);
int mi_posix_memalign(void** out, size_t alignment, size_t size);
void* mi_new(size_t size);
void mi_free(void* block);
}

namespace {

void* volatile sink = nullptr;  // makes every block escape

void* keep(void* block) {
  if (block == nullptr) truth::fail("an allocation failed");
  sink = block;
  return block;
}

}  // namespace

extern "C" {

[[gnu::noinline]] void other_malloc() {
  for (int i = 0; i < 30; ++i) keep(mi_malloc(100));
  for (int i = 0; i < 20; ++i) mi_free(keep(mi_malloc(5000)));
}
[[gnu::noinline]] void other_zeroed() {
  for (int i = 0; i < 10; ++i) keep(mi_calloc(3, 70));
  for (int i = 0; i < 10; ++i) keep(mi_zalloc(90));
}
[[gnu::noinline]] void other_realloc() {
  for (int i = 0; i < 10; ++i) keep(mi_realloc(keep(mi_realloc(nullptr, 40)), 4000));
}
[[gnu::noinline]] void other_aligned() {
  for (int i = 0; i < 10; ++i) {
    void* block = nullptr;
    if (mi_posix_memalign(&block, 64, 1000) != 0) truth::fail("mi_posix_memalign");
    keep(block);
    keep(mi_malloc_aligned(2000, 256));
  }
}
[[gnu::noinline]] void other_new() {
  for (int i = 0; i < 10; ++i) keep(mi_new(333));
}
[[gnu::noinline]] void own_malloc() {
  for (int i = 0; i < 30; ++i) keep(malloc(100));
  for (int i = 0; i < 20; ++i) free(keep(malloc(5000)));
}
[[gnu::noinline]] void own_new() {
  for (int i = 0; i < 10; ++i) keep(::operator new(333));
}

}  // extern "C"

namespace {

struct Site {
  const char* name;
  void (*run)();
  int64_t live, live_count, total, total_count;
};
constexpr Site sites[] = {
    {"other_malloc", other_malloc, 3000, 30, 103000, 50},
    {"other_zeroed", other_zeroed, 3000, 20, 3000, 20},
    {"other_realloc", other_realloc, 40000, 10, 40400, 20},
    {"other_aligned", other_aligned, 30000, 20, 30000, 20},
    {"other_new", other_new, 3330, 10, 3330, 10},
    {"own_malloc", own_malloc, 3000, 30, 103000, 50},
    {"own_new", own_new, 3330, 10, 3330, 10},
};

}  // namespace

int main(int argc, char** argv) {
  truth::begin(argc, argv);
  for (const Site& site : sites) {
    site.run();
    truth::state("functions", site.name, "live", site.live);
    truth::state("functions", site.name, "live_count", site.live_count);
    truth::state("functions", site.name, "total", site.total);
    truth::state("functions", site.name, "total_count", site.total_count);
  }
  return truth::end();
}
