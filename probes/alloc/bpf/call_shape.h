// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What a probed function takes and returns, packed into the 64 bits of its probe's cookie. So a
// program needs no look-up to know what a call means, and a new allocator needs no new program.
// Plain C, for BPF and user space.
#pragma once

#include "../../bpf/shared.h"

#ifdef __cplusplus
namespace memflame::bpf {
#endif

// In place of a function's number: the block was reported by a program itself (usdt.h).
enum { function_of_program = 0xffff };

// What happens at the probe.
enum call_action {
  action_allocate = 1,  // a block is requested (and, with `block`, an old one freed: realloc)
  action_free,          // a block is freed
  action_end,           // a `ret` of an allocating function that must not get a return probe
  action_throw,         // a C++ exception is thrown: an open call that may throw will not return
  action_mark,          // with --check: tells the family of the calls inside of this one
  action_free_go,       // action_free of a Go function, with its arguments in Go's registers
};

// Which functions must free a block.
enum call_family { family_malloc = 1, family_new, family_new_array, family_other };

// How to find a block's usable size.
enum usable_size { usable_unknown, usable_glibc, usable_jemalloc, usable_jemalloc_flags };
// In place of an argument's number: the alignment is the page size.
enum { aligned_to_page = 7 };

// Arguments are numbered from 1 to 6; 0 means none.
struct call_shape {
  u64 action : 3;  // enum call_action
  u64 family : 3;  // enum call_family
  u64 size : 3;    // the size in bytes …
  u64 count : 3;   // … or its product with this one
  u64 block : 3;   // the block that is freed or resized
  u64 out : 3;     // points to where the call writes the address if it returns 0 (posix_memalign);
                   // without it the address is the result
  u64 pool : 3;    // allocate: the pool that the block belongs to and is freed with
                   // free: the pool whose blocks are all freed
  u64 int_size : 1;      // size and count are 32-bit
  u64 own_end : 1;       // allocate: action_end sees its end, not a return probe; see allocators.h
  u64 forwards : 1;      // free: may call another probed function for the same block
  u64 always_frees : 1;  // realloc-like: size 0 frees, whatever is returned (sqlite3_realloc)
  u64 leaf : 1;          // never calls another probed function
  u64 usable : 2;        // enum usable_size
  u64 stepped : 1;       // the kernel single-steps the instruction at the probe
  u64 align : 3;       // the alignment, or aligned_to_page; mallocx() takes its logarithm in flags
  u64 function : 16;   // index in the run's list of probed functions, see alloc_run.h
  u64 allocator : 16;  // index in the list of the file's allocators (AllocatorProbes)
};

#ifdef __cplusplus
static_assert(sizeof(call_shape) == sizeof(u64));
}  // namespace memflame::bpf
#endif
