// SPDX-License-Identifier: BSD-2-Clause
// Which blocks are kept, and what a kept one stands for.
//
// Each block is kept or not by a draw of its own, with a probability p that depends on its size s
// alone; a kept block stands for s / p bytes and 1 / p blocks (the estimator of Horvitz and
// Thompson, 1952), so the expected sum is the true one whatever p is, and it stays so when the rate
// is changed: what a block stands for is fixed when it is allocated and taken back when it is
// freed.
//
// With --sample BYTES, p = 1 - exp(-s / BYTES): that a Poisson process which sets a mark every
// BYTES bytes on average sets one into these s. Such a process has no memory, so drawing for each
// block is the same as counting bytes down, and needs nothing kept per thread.
//
// Plain C: for BPF programs, and for tests. The includer defines `own`, `rate` and
// bpf_get_prandom_u32() before this (bpf/maps.h), and what alloc/bpf/config.h has.
#pragma once

enum { certainly = 1ULL << keep_bits };

// The probability in 2^-keep_bits, at least one of these.
ALWAYS_INLINE u64 probability(u64 size) {
  if (rate.sampling == sampling_none) return certainly;
  if (rate.sampling == sampling_every) return rate.one_in;
  if (size >= rate.certain) return certainly;
  u64 at = size * rate.inverse;  // size / BYTES in 2^-32; under 16
  u32 step = (at >> 28) & (keep_steps - 1);
  // User space has put keep_bits of 1 - exp(-step / 16) there. A straight line between two of them
  // is at most 3 % low, which only makes samples rarer: what counts is p as it is.
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

// A random number under p, each equally likely (except for the last bits of p).
ALWAYS_INLINE u64 draw_under(u64 p) { return (u64)bpf_get_prandom_u32() * (p >> 8) >> 24; }

// A whole number of bytes that `size` bytes stand for, whose expected value is size / p: rounding
// to the nearest would make a difference for blocks of a few bytes.
ALWAYS_INLINE u64 weight_of(u64 size, u64 p) {
  if (p >= certainly) return size;
  if (size < 1 << 24) return ((size << keep_bits) + draw_under(p)) / p;
  // 1 / p with 24 more bits.
  u64 whole = certainly / p, part = (certainly % p << 24) / p;
  if (size >> keep_bits) return size * whole + (size >> 24) * part;
  return size * whole + (size * part >> 24);
}

// A whole number of blocks whose expected value is 1 / p.
ALWAYS_INLINE u32 count_of(u64 p) {
  if (p >= certainly) return 1;
  u64 count = certainly / p, rest = certainly % p;
  return count + (draw_under(p) < rest);
}

// Estimate of the variance that a kept block brings into a sum: (1 - p) (s / p)^2, which is
// weight * (weight - size), here in squares of 2^variance_shift bytes. Rounded up or down at
// random, so that many small ones are not lost; the block's own seed makes it bring and take the
// same.
ALWAYS_INLINE u64 variance_of(const struct block* block) {
  u64 weight = block->weight, over = weight - block->size;
  if (!over) return 0;
  if (weight >> 31) return (weight >> variance_shift) * (over >> variance_shift);
  u64 part = mix(0, block->seed) & ((1ULL << 2 * variance_shift) - 1);
  return (weight * over + part) >> 2 * variance_shift;
}
