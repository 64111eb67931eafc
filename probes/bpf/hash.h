// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The hash by which BPF programs and user space know a stack. Both take it, from the frames in
// their order, so they must agree on it.
#pragma once

#include "types.h"

#ifdef __cplusplus
namespace memflame::bpf {
#endif

// One step of the hash: 0 or the hash so far, and the next word. Multiplies by 2^64 / golden ratio.
static inline __attribute__((always_inline)) u64 mix(u64 hash, u64 word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
  return hash ^ hash >> 32;
}

// The two top bits of a key say what it is: 10 the hash of a stack, 11 one copy of a stack that
// user space walks, 0 a note.
static inline __attribute__((always_inline)) u64 stack_key(u64 hash) {
  return (hash | 1ULL << 63) & ~(1ULL << 62);
}

static inline __attribute__((always_inline)) u64 copy_key(u64 number) {
  return number | 3ULL << 62;
}
// Not a function, so that clang makes the same code of it as of the comparison: see
// alloc/bpf/blocks.h.
#define is_copy_key(key) ((key) >> 62 == 3)

#ifdef __cplusplus
}  // namespace memflame::bpf
#endif
