// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The usable size of a block, where the allocator's rules tell it. Plain C, for BPF programs and
// tests. The includer defines ALWAYS_INLINE and the types of bpf/shared.h.
#pragma once

// Size classes of jemalloc since 5.0, as built for x86-64 by default (source: jemalloc(3)): 8
// bytes, then multiples of 16, then four classes per doubling.
enum {
  jemalloc_small_max = 14336,  // the largest class of small blocks
  jemalloc_large_min = 16384,  // the smallest class of blocks with pages of their own
  jemalloc_page = 4096,
};

ALWAYS_INLINE u64 jemalloc_class(u64 size) {
  if (size <= 8) return 8;
  if (size >> 62) return size;  // such a call fails
  // The logarithm of the power of two to round up to. BPF has no instruction for it.
  u64 rest = 2 * size - 1;
  u32 log = 0;
  for (u32 bits = 32; bits; bits /= 2) {
    u32 step = (rest >> bits != 0) * bits;
    rest >>= step;
    log += step;
  }
  u64 step = log < 7 ? 16 : 1ULL << (log - 3);
  return (size + step - 1) & ~(step - 1);
}

// `alignment` is a power of two; 0 = not requested. A small block is aligned by its class: all
// blocks of a class are aligned to the largest power of two that divides its size.
ALWAYS_INLINE u64 jemalloc_size(u64 size, u64 alignment) {
  if (!alignment) return jemalloc_class(size);
  if (!size) size = 1;
  if (size <= jemalloc_small_max && alignment <= jemalloc_page) {
    u64 aligned = jemalloc_class((size + alignment - 1) & ~(alignment - 1));
    if (aligned < jemalloc_large_min) return aligned;
  }
  if (size <= jemalloc_large_min) return jemalloc_large_min;
  return jemalloc_class(size);
}
