// SPDX-License-Identifier: BSD-2-Clause
// Memory of large tables that are read here and there.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace memflame {

// Asks the kernel for pages of 2 MiB: with those of 4 KiB most reads wait for the address first.
// Where there are none it is memory like any other.
template <class T>
struct HugePages {
  using value_type = T;
  HugePages() = default;
  template <class U>
  HugePages(const HugePages<U>&) {}  // NOLINT(google-explicit-constructor): allocators are so

  T* allocate(size_t count) {
    constexpr size_t worth = size_t{2} << 20U, page = 4096;
    const size_t size = count * sizeof(T);
    T* const memory = std::allocator<T>{}.allocate(count);
    // What else is on the first page may be in a large one too.
    const size_t before = reinterpret_cast<uintptr_t>(memory) % page;
    if (size >= worth)
      madvise(reinterpret_cast<char*>(memory) - before, before + size, MADV_HUGEPAGE);
    return memory;
  }
  void deallocate(T* memory, size_t count) { std::allocator<T>{}.deallocate(memory, count); }
  friend bool operator==(const HugePages&, const HugePages&) { return true; }
};

template <class T>
using HugeVector = std::vector<T, HugePages<T>>;

}  // namespace memflame
