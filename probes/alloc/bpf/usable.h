// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The size that a block really has, where the allocator's rules tell it. Plain C: for BPF programs,
// and for tests. The includer defines ALWAYS_INLINE and the types of bpf/shared.h.
#pragma once

// jemalloc (size classes since 5.0, jemalloc(3)): blocks of 8 bytes, then multiples of 16, then
// four classes to each doubling, as it is built for x86-64 unless asked for something else.
enum {
  jemalloc_small_max = 14336,  // the last class of small blocks …
  jemalloc_large_min = 16384,  // … and the first one of those that have pages of their own
  jemalloc_page = 4096,
};

ALWAYS_INLINE u64 jemalloc_class(u64 size) {
  if (size <= 8) return 8;
  if (size >> 62) return size;  // such a call fails
  // The logarithm of what is to be rounded up to; BPF has no instruction for it.
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

// `alignment` is a power of two; 0 = none asked for. Small blocks are aligned by their class, as
// the largest power of two in its size is the alignment that all its blocks have.
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
