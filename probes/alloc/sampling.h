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
#pragma once

#include "../bpf/maps.h"

enum { certainly = 1ULL << keep_bits };

// The probability in 2^-keep_bits, at least one of these.
ALWAYS_INLINE u64 probability(u64 size) {
  if (globals.sampling == sampling_none) return certainly;
  if (globals.sampling == sampling_every) return globals.one_in;
  if (size >= globals.certain) return certainly;
  u64 at = size * globals.inverse;  // size / BYTES in 2^-32; under 16
  u32 step = (at >> 28) & (keep_steps - 1);
  // User space has put keep_bits of 1 - exp(-step / 16) there; a straight line between two of them
  // is at most 0.05 % low.
  u64 low = config.keep[step], high = config.keep[step + 1];
  u64 p = low + ((high - low) * (at & ((1 << 28) - 1)) >> 28);
  return p ? p : 1;
}

ALWAYS_INLINE int is_kept(u64 p) {
  if (p >= certainly) return 1;
  u32 draw = bpf_get_prandom_u32();
  if (draw != p >> 8) return draw < p >> 8;
  return (bpf_get_prandom_u32() & 0xff) < (p & 0xff);
}

// What `size` bytes stand for.
ALWAYS_INLINE u64 weight_of(u64 size, u64 p) {
  if (p >= certainly) return size;
  if (size < 1 << 24) return ((size << keep_bits) + p / 2) / p;
  return (size << 20) / (p >> 20 ? p >> 20 : 1);
}

// A whole number of blocks whose expected value is 1 / p.
ALWAYS_INLINE u32 count_of(u64 p) {
  if (p >= certainly) return 1;
  u64 count = certainly / p, rest = certainly % p;
  u64 draw = (u64)bpf_get_prandom_u32() * (p >> 8) >> 24;  // under p
  return count + (draw < rest);
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
