// SPDX-License-Identifier: BSD-2-Clause
// Blocks of all sizes and alignments, and what malloc_usable_size() says of them.
#include <dlfcn.h>
#include <malloc.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "examples/truth/report.h"

namespace {

// What is kept is what only --size usable gets right: each size up to a page, and then one of a
// few, in steps that meet all alignments, has a block.
template <class Allocate>
void each_size(const char* name, Allocate allocate) {
  int64_t total = 0;
  int64_t live = 0;
  int64_t count = 0;
  int64_t live_count = 0;
  for (size_t size = 0; size <= size_t{1} << 20; size += size < 4096 ? 1 : size < 40000 ? 7 : 487) {
    void* block = allocate(size);
    if (block == nullptr) truth::fail("an allocation failed");
    const auto usable = static_cast<int64_t>(malloc_usable_size(block));
    total += usable;
    ++count;
    if (size % 64 == 3) {
      live += usable;
      ++live_count;
    } else {
      free(block);
    }
  }
  truth::state("functions", name, "total", total);
  truth::state("functions", name, "total_count", count);
  truth::state("functions", name, "live", live);
  truth::state("functions", name, "live_count", live_count);
}

// 16 to 64 KiB in turn.
size_t alignment_for(size_t size) { return size_t{16} << size % 13; }

}  // namespace

extern "C" {

[[gnu::noinline]] void plain() {
  each_size("plain", [](size_t size) { return malloc(size); });
}
[[gnu::noinline]] void zeroed() {
  each_size("zeroed", [](size_t size) { return calloc(1, size); });
}
[[gnu::noinline]] void resized() {
  each_size("resized", [](size_t size) { return realloc(nullptr, size); });
}
[[gnu::noinline]] void aligned() {
  each_size("aligned", [](size_t size) { return memalign(alignment_for(size), size + 1); });
}
[[gnu::noinline]] void posix() {
  each_size("posix", [](size_t size) {
    void* block = nullptr;
    if (posix_memalign(&block, alignment_for(size), size) != 0) truth::fail("posix_memalign");
    return block;
  });
}
[[gnu::noinline]] void paged() {
  each_size("paged", [](size_t size) { return valloc(size + 1); });
}
[[gnu::noinline]] void of_cxx() {
  each_size("of_cxx", [](size_t size) { return ::operator new(size); });
}
// jemalloc only.
[[gnu::noinline]] void by_flags() {
  using Mallocx = void* (*)(size_t size, int flags);
  const auto mallocx = reinterpret_cast<Mallocx>(dlsym(RTLD_DEFAULT, "mallocx"));
  if (mallocx == nullptr) return;
  each_size("by_flags", [=](size_t size) {
    const int zeroed = 0x40;
    return mallocx(size + 1, static_cast<int>(size % 14) | (size % 2 == 0 ? zeroed : 0));
  });
}

}  // extern "C"

int main(int argc, char** argv) {
  truth::begin(argc, argv);
  plain();
  zeroed();
  resized();
  aligned();
  posix();
  paged();
  of_cxx();
  by_flags();
  return truth::end();
}
