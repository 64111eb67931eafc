// SPDX-License-Identifier: BSD-2-Clause
// Blocks freed by functions that few C libraries have.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>

#include "examples/truth/report.h"

extern "C" {
void free_sized(void* block, size_t size);
void free_aligned_sized(void* block, size_t alignment, size_t size);
void cfree(void* block);
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

[[gnu::noinline]] void frees_sized() {
  for (int i = 0; i < 100; ++i) free_sized(keep(malloc(700)), 700);
  keep(malloc(700));
}
[[gnu::noinline]] void frees_aligned_sized() {
  for (int i = 0; i < 100; ++i) free_aligned_sized(keep(aligned_alloc(64, 640)), 64, 640);
  keep(aligned_alloc(64, 640));
}
[[gnu::noinline]] void frees_with_cfree() {
  for (int i = 0; i < 100; ++i) cfree(keep(calloc(10, 50)));
  keep(calloc(10, 50));
}
[[gnu::noinline]] void frees_null() {
  free_sized(nullptr, 8);
  free_aligned_sized(nullptr, 8, 8);
  cfree(nullptr);
}

}  // extern "C"

int main(int argc, char** argv) {
  truth::begin(argc, argv);
  struct Site {
    const char* name;
    void (*run)();
    int64_t size;
  };
  for (const Site& site : {Site{"frees_sized", frees_sized, 700},
                           Site{"frees_aligned_sized", frees_aligned_sized, 640},
                           Site{"frees_with_cfree", frees_with_cfree, 500}}) {
    site.run();
    truth::state("functions", site.name, "live", site.size);
    truth::state("functions", site.name, "live_count", 1);
    truth::state("functions", site.name, "total", 101 * site.size);
    truth::state("functions", site.name, "total_count", 101);
  }
  frees_null();
  truth::state("counters", "free_miss", "events", 0);
  return truth::end();
}
