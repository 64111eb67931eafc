// SPDX-License-Identifier: BSD-2-Clause
// Every way to allocate and to free: one program, linked with one allocator after the other. Each
// way keeps and frees known amounts in a function of its own. Compiled with WITHOUT_NEW for C
// libraries that no C++ library goes with.
#include <malloc.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#ifndef WITHOUT_NEW
#include <memory>
#include <new>
#include <vector>
#endif

#include "examples/truth/report.h"

namespace {

// Small, odd, of many pages, and beyond what allocators keep in bins.
constexpr size_t sizes[] = {24, 301, 5000, 70000, 3000000};
constexpr int kept = 3, freed = 2;  // of each size, by every way
constexpr size_t alignment = 64;

#ifndef WITHOUT_NEW
constexpr std::align_val_t at{alignment};
#endif

void* volatile sink = nullptr;  // makes every block escape

// Writes to the block, so that it is a block.
void* keep(void* block) {
  if (block == nullptr) truth::fail("an allocation failed");
  *static_cast<volatile char*>(block) = 1;
  sink = block;
  return block;
}

// libstdc++ asks its malloc for whole multiples of the alignment, other libraries do not: where
// operator new aligns, the program does.
constexpr size_t rounded(size_t size) { return (size + alignment - 1) / alignment * alignment; }

// `allocate` by the sizes, and `release` what is not kept.
template <class Allocate, class Release>
[[gnu::always_inline]] inline void by_sizes(Allocate allocate, Release release) {
  for (const size_t size : sizes) {
    for (int i = 0; i < kept; ++i) keep(allocate(size));
    for (int i = 0; i < freed; ++i) release(keep(allocate(size)), size);
  }
}
void by_free(void* block, size_t) { free(block); }

}  // namespace

// Functions have C names, so that a frame's name is exactly the function's.
extern "C" {

[[gnu::noinline]] void by_malloc() {
  by_sizes([](size_t size) { return malloc(size); }, by_free);
}
[[gnu::noinline]] void by_calloc() {
  by_sizes([](size_t size) { return calloc(size, 3); }, by_free);
}
[[gnu::noinline]] void by_realloc_of_null() {
  by_sizes([](size_t size) { return realloc(nullptr, size); }, by_free);
}
// In place and elsewhere, up and down: the last one stays.
[[gnu::noinline]] void by_realloc() {
  by_sizes(
      [](size_t size) {
        void* block = keep(realloc(nullptr, size));
        block = keep(realloc(block, size + 1));
        block = keep(realloc(block, size * 3));
        return realloc(block, size / 2);
      },
      by_free);
}
[[gnu::noinline]] void by_posix_memalign() {
  by_sizes(
      [](size_t size) {
        void* block = nullptr;
        return posix_memalign(&block, alignment, size) == 0 ? block : nullptr;
      },
      by_free);
}
[[gnu::noinline]] void by_aligned_alloc() {
  by_sizes([](size_t size) { return aligned_alloc(8, size * 8); }, by_free);
}
[[gnu::noinline]] void by_memalign() {
  by_sizes([](size_t size) { return memalign(alignment, size); }, by_free);
}
[[gnu::noinline]] void by_valloc() {
  by_sizes([](size_t size) { return valloc(size); }, by_free);
}
// Most allocators leave this one to libc, whose function calls theirs.
[[gnu::noinline]] void by_reallocarray() {
  by_sizes([](size_t size) { return reallocarray(nullptr, size, 2); }, by_free);
}

#ifndef WITHOUT_NEW
// Called directly, as a new-expression may be optimised away.
[[gnu::noinline]] void by_new() {
  by_sizes([](size_t size) { return ::operator new(size); },
           [](void* block, size_t) { ::operator delete(block); });
}
[[gnu::noinline]] void by_new_sized() {
  by_sizes([](size_t size) { return ::operator new(size); },
           [](void* block, size_t size) { ::operator delete(block, size); });
}
[[gnu::noinline]] void by_new_array() {
  by_sizes([](size_t size) { return ::operator new[](size); },
           [](void* block, size_t) { ::operator delete[](block); });
}
[[gnu::noinline]] void by_new_array_sized() {
  by_sizes([](size_t size) { return ::operator new[](size); },
           [](void* block, size_t size) { ::operator delete[](block, size); });
}
[[gnu::noinline]] void by_new_nothrow() {
  by_sizes([](size_t size) { return ::operator new(size, std::nothrow); },
           [](void* block, size_t) { ::operator delete(block, std::nothrow); });
}
[[gnu::noinline]] void by_new_array_nothrow() {
  by_sizes([](size_t size) { return ::operator new[](size, std::nothrow); },
           [](void* block, size_t) { ::operator delete[](block, std::nothrow); });
}
[[gnu::noinline]] void by_new_aligned() {
  by_sizes([](size_t size) { return ::operator new(rounded(size), at); },
           [](void* block, size_t) { ::operator delete(block, at); });
}
[[gnu::noinline]] void by_new_aligned_sized() {
  by_sizes([](size_t size) { return ::operator new(rounded(size), at); },
           [](void* block, size_t size) { ::operator delete(block, rounded(size), at); });
}
[[gnu::noinline]] void by_new_array_aligned() {
  by_sizes([](size_t size) { return ::operator new[](rounded(size), at); },
           [](void* block, size_t) { ::operator delete[](block, at); });
}
[[gnu::noinline]] void by_new_array_aligned_sized() {
  by_sizes([](size_t size) { return ::operator new[](rounded(size), at); },
           [](void* block, size_t size) { ::operator delete[](block, rounded(size), at); });
}
[[gnu::noinline]] void by_new_aligned_nothrow() {
  by_sizes([](size_t size) { return ::operator new(rounded(size), at, std::nothrow); },
           [](void* block, size_t) { ::operator delete(block, at, std::nothrow); });
}
[[gnu::noinline]] void by_new_array_aligned_nothrow() {
  by_sizes([](size_t size) { return ::operator new[](rounded(size), at, std::nothrow); },
           [](void* block, size_t) { ::operator delete[](block, at, std::nothrow); });
}

// As C++ programs do it.
[[gnu::noinline]] void of_a_class() {
  struct alignas(64) Wide {
    char bytes[16384];
  };
  struct Plain {
    char bytes[44444];
  };
  keep(new Plain);
  keep(new int64_t);
  keep(new Wide);
}
[[gnu::noinline]] void of_containers() {
  static std::vector<uint64_t> vector(11111);
  static std::unique_ptr<char[]> array(new char[32768]);
  keep(vector.data());
  keep(array.get());
  static std::vector<char> gone(1000);
  std::vector<char>().swap(gone);
}
#endif

}  // extern "C"

namespace {

struct Way {
  const char* name;
  void (*run)();
  bool rounds = false;
};

constexpr Way ways[] = {
    {"by_malloc", by_malloc},
    {"by_realloc_of_null", by_realloc_of_null},
    {"by_posix_memalign", by_posix_memalign},
    {"by_memalign", by_memalign},
    {"by_valloc", by_valloc},
#ifndef WITHOUT_NEW
    {"by_new", by_new},
    {"by_new_sized", by_new_sized},
    {"by_new_array", by_new_array},
    {"by_new_array_sized", by_new_array_sized},
    {"by_new_nothrow", by_new_nothrow},
    {"by_new_array_nothrow", by_new_array_nothrow},
    {"by_new_aligned", by_new_aligned, true},
    {"by_new_aligned_sized", by_new_aligned_sized, true},
    {"by_new_array_aligned", by_new_array_aligned, true},
    {"by_new_array_aligned_sized", by_new_array_aligned_sized, true},
    {"by_new_aligned_nothrow", by_new_aligned_nothrow, true},
    {"by_new_array_aligned_nothrow", by_new_array_aligned_nothrow, true},
#endif
};

void state(const char* name, int64_t live, int64_t live_count, int64_t total, int64_t total_count) {
  truth::state("functions", name, "live", live);
  truth::state("functions", name, "live_count", live_count);
  truth::state("functions", name, "total", total);
  truth::state("functions", name, "total_count", total_count);
}

// Every size, `times` as large.
void state_by_sizes(const char* name, size_t times = 1, bool rounds = false) {
  size_t all = 0;
  for (const size_t size : sizes) all += (rounds ? rounded(size) : size) * times;
  const auto bytes = static_cast<int64_t>(all);
  const auto count = static_cast<int64_t>(std::size(sizes));
  state(name, kept * bytes, kept * count, (kept + freed) * bytes, (kept + freed) * count);
}

void state_realloc() {
  int64_t live = 0, total = 0;
  for (const size_t size : sizes) {
    live += static_cast<int64_t>(size / 2);
    total += static_cast<int64_t>(size + size + 1 + size * 3 + size / 2);
  }
  const auto count = static_cast<int64_t>(std::size(sizes));
  state("by_realloc", kept * live, kept * count, (kept + freed) * total,
        (kept + freed) * count * 4);
}

}  // namespace

int main(int argc, char** argv) {
  truth::begin(argc, argv);
  for (const Way& way : ways) {
    way.run();
    state_by_sizes(way.name, 1, way.rounds);
  }
  by_calloc();
  state_by_sizes("by_calloc", 3);
  by_aligned_alloc();
  state_by_sizes("by_aligned_alloc", 8);
  by_reallocarray();
  state_by_sizes("by_reallocarray", 2);
  by_realloc();
  state_realloc();
#ifndef WITHOUT_NEW
  of_a_class();
  state("of_a_class", 44444 + 8 + 16384, 3, 44444 + 8 + 16384, 3);
  of_containers();
  state("of_containers", 88888 + 32768, 2, 88888 + 32768 + 1000, 3);
#endif
  return truth::end();
}
