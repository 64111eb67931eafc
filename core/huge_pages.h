// SPDX-License-Identifier: BSD-2-Clause
// Memory for large tables with random access.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace memflame {

// Asks the kernel for 2 MiB pages: with 4 KiB pages most reads wait for the address translation
// first. If there are none, it is ordinary memory.
template <class T>
struct HugePages {
  using value_type = T;
  HugePages() = default;
  template <class U>
  HugePages(const HugePages<U>&) {}  // NOLINT(google-explicit-constructor): allocators convert

  T* allocate(size_t count) {
    constexpr size_t worth = size_t{2} << 20U, page = 4096;
    const size_t size = count * sizeof(T);
    T* const memory = std::allocator<T>{}.allocate(count);
    // madvise() takes whole pages; other data on the first page may move to a large page, too.
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
