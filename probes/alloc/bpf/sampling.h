// SPDX-License-Identifier: BSD-2-Clause
// Which blocks are kept, and what a kept one stands for.
//
// Each block is kept or not by a draw of its own, with a probability p that depends only on its
// size s. A kept block stands for s / p bytes and 1 / p blocks (the estimator of Horvitz and
// Thompson, 1952), so the expected sum is the true one for every p. This also holds when the rate
// changes: the weight of a block is fixed when it is allocated, and subtracted when it is freed.
//
// With --sample BYTES, p = 1 - exp(-s / BYTES). This is the probability that a Poisson process that
// sets a mark every BYTES bytes on average sets at least one mark into s bytes. Such a process has
// no memory, so a draw per block equals a countdown of bytes, and no state per thread is needed.
//
// Plain C, for BPF programs and tests. Before this file the includer defines `own`, `rate`,
// bpf_get_prandom_u32() (bpf/maps.h) and what alloc/bpf/config.h has.
#pragma once

enum { certainly = 1ULL << keep_bits };

// The probability in units of 2^-keep_bits, at least 1.
ALWAYS_INLINE u64 probability(u64 size) {
  if (rate.sampling == sampling_none) return certainly;
  if (rate.sampling == sampling_every) return rate.one_in;
  if (size >= rate.certain) return certainly;
  u64 at = size * rate.inverse;  // size / BYTES in 2^-32; under 16
  u32 step = (at >> 28) & (keep_steps - 1);
  // The table has 1 - exp(-step / 16), filled in by user space. A straight line between two entries
  // is at most 3 % too low. That only makes samples rarer: weights follow from the p that is used.
  u64 low = own.keep[step], high = own.keep[step + 1];
  u64 p = low + ((high - low) * (at & ((1 << 28) - 1)) >> 28);
  return p ? p : 1;
}

ALWAYS_INLINE int is_kept(u64 p) {
  if (p >= certainly) return 1;
  u32 draw = bpf_get_prandom_u32();
  if (draw != p >> 8) return draw < p >> 8;
  return (bpf_get_prandom_u32() & 0xff) < (p & 0xff);
}

// A random number below p; all are equally likely, but the last 8 bits of p are ignored.
ALWAYS_INLINE u64 draw_under(u64 p) { return (u64)bpf_get_prandom_u32() * (p >> 8) >> 24; }

// The whole number of bytes that a kept block of `size` bytes stands for. It is rounded at random,
// so that its expected value is size / p: rounding to the nearest would distort the sums of blocks
// of a few bytes.
ALWAYS_INLINE u64 weight_of(u64 size, u64 p) {
  if (p >= certainly) return size;
  if (size < 1 << 24) return ((size << keep_bits) + draw_under(p)) / p;
  // 1 / p as a whole part and 24 more bits.
  u64 whole = certainly / p, part = (certainly % p << 24) / p;
  if (size >> keep_bits) return size * whole + (size >> 24) * part;
  return size * whole + (size * part >> 24);
}

// The whole number of blocks that a kept block stands for; its expected value is 1 / p.
ALWAYS_INLINE u32 count_of(u64 p) {
  if (p >= certainly) return 1;
  u64 count = certainly / p, rest = certainly % p;
  return count + (draw_under(p) < rest);
}

// Estimates the variance that a kept block adds to a sum: (1 - p) (s / p)^2, which is
// weight * (weight - size), in squares of 2^variance_shift bytes. It is rounded at random, so that
// many small variances are not lost. The block's own seed makes the free subtract what the
// allocation added.
ALWAYS_INLINE u64 variance_of(const struct block* block) {
  u64 weight = block->weight, over = weight - block->size;
  if (!over) return 0;
  if (weight >> 31) return (weight >> variance_shift) * (over >> variance_shift);
  u64 part = mix(0, block->seed) & ((1ULL << 2 * variance_shift) - 1);
  return (weight * over + part) >> 2 * variance_shift;
}
