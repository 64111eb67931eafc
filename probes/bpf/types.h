// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Words that BPF programs and user space share: numbers by their size, and how functions are
// inlined.
#pragma once

#ifdef __cplusplus
#include <cstdint>
namespace memflame::bpf {
using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using s64 = int64_t;
using s32 = int32_t;
}  // namespace memflame::bpf
#else
#include <linux/types.h>
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s64 s64;
typedef __s32 s32;
#endif

// BPF passes five words to a function, in registers. A function with more arguments, or with a
// structure as an argument, has to be inlined by force: what a compiler inlines by itself differs
// from version to version. `scripts/check bpf` compiles all programs with nothing else inlined.
#define ALWAYS_INLINE static inline __attribute__((always_inline))
