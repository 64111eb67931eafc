// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What a probed function takes and returns, packed into the cookie of its probe: a program needs no
// look-up to know what a call means, and a new allocator needs no new program. Plain C, for BPF and
// user space.
#pragma once

#include "../../bpf/shared.h"

#ifdef __cplusplus
namespace memflame::bpf {
#endif

// Stands for no function: a program that reports its own blocks (usdt.h).
enum { function_of_program = 0xffff };

// What happens at the probe.
enum call_action {
  action_allocate = 1,  // a block is requested (and, with `block`, an old one freed: realloc)
  action_free,          // a block is freed
  action_end,           // a `ret` of an allocating function that must not get a return probe
  action_throw,         // a C++ exception is thrown: no call that may throw will return any more
  action_mark,          // with --check: tells the family of the call inside of it
  action_free_go,       // action_free of a function whose arguments are where Go passes them
};

// The functions to which a block must go back.
enum call_family { family_malloc = 1, family_new, family_new_array, family_other };

// How to find a block's real size from its address.
enum usable_size { usable_unknown, usable_glibc, usable_jemalloc, usable_jemalloc_flags };
// An alignment that is not an argument.
enum { aligned_to_page = 7 };

// An argument is given by its number from 1 (the first) to 6; 0 means none.
struct call_shape {
  u64 action : 3;  // enum call_action
  u64 family : 3;  // enum call_family
  u64 size : 3;    // the size in bytes …
  u64 count : 3;   // … or its product with this one
  u64 block : 3;   // the block that is freed or resized
  u64 out : 3;     // where the address is written to, if the call returns 0; else it is the result
  u64 pool : 3;    // allocate: what the block belongs to, and is freed with
                   // free: frees everything in this pool
  u64 int_size : 1;      // size and count are 32-bit
  u64 own_end : 1;       // allocate: its end is seen by action_end, not by a return probe
  u64 forwards : 1;      // free: may call another probed function for the same block
  u64 always_frees : 1;  // realloc-like: size 0 frees, whatever is returned (sqlite3_realloc)
  u64 leaf : 1;          // never calls another probed function
  u64 usable : 2;        // enum usable_size
  u64 stepped : 1;       // the kernel single-steps the instruction at the probe
  u64 align : 3;       // the alignment, or aligned_to_page; in the flags of mallocx() its logarithm
  u64 function : 16;   // index in the run's list of probed functions, see alloc.cc
  u64 allocator : 16;  // index in its list of allocators
};

#ifdef __cplusplus
static_assert(sizeof(call_shape) == sizeof(u64));
}  // namespace memflame::bpf
#endif
