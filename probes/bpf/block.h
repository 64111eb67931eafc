// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Blocks of memory that are live, for the probes that follow them.
#pragma once

#include "types.h"

#ifdef __cplusplus
namespace memflame::bpf {
#endif

// A block that is live: blocks: block_key -> block
struct block_key {
  u64 address;
  u32 space;
  u32 pad;
};
struct block {
  u64 hash;      // of the allocating stack
  u64 size;      // bytes
  u64 weight;    // bytes that it stands for: its size, unless blocks are sampled
  u64 time_ns;   // CLOCK_MONOTONIC; 0 unless asked for
  u32 count;     // blocks that it stands for
  u32 function;  // the function that allocated it: index in the run's list
  u32 family;    // enum call_family
  u32 seed;      // random, for rounding its share of a sum
  u64 next;      // address of the next block of its pool; 0 = none
  u64 number;    // in the recording; 0 unless events are asked for
};

// Faults on a page that was not there, for probes that follow who touches it: the first one seen,
// and the last one if there were several. page_faults: block_key with the page's address ->
// page_faults
struct page_faults {
  u64 first_ns, first;  // CLOCK_MONOTONIC, and the key of the stack
  u64 last_ns, last;    // 0 = there was only one
};

#ifdef __cplusplus
}  // namespace memflame::bpf
#endif
