// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What only alloc's programs and their user space share. Plain C.
#pragma once

#include "../../bpf/shared.h"

#ifdef __cplusplus
namespace memflame::bpf {
#endif

enum {
  keep_steps = 256,  // of the table of probabilities
  keep_bits = 40,    // of a probability
};

// Filled by user space before load.
struct alloc_config {
  u32 check;                 // look for blocks that are freed twice or by the wrong function
  u32 usable;                // sizes as the allocator gives them, where that is known
  u32 trace;                 // a record for each call
  u32 governed;              // measure the programs' own cost
  u32 ages;                  // keep when a block was allocated, too
  u32 count_calls;           // of each declared function
  u64 keep[keep_steps + 1];  // see sampling.h
};

// Which blocks are kept; changes during the run.
struct rate {
  u32 sampling;  // enum sampling
  u32 pad;
  u64 inverse;  // 2^32 / mean bytes between samples
  u64 certain;  // blocks of this size or more are always kept
  u64 one_in;   // for sampling_every: probability in 2^-keep_bits
};
enum sampling { sampling_none, sampling_bytes, sampling_every };

// A call from the allocator's own code: own_calls.
struct own_call {
  u32 function;  // index in the run's list
  s32 distance;  // from the probe to where the call returns, bytes
};

enum { record_candidate = record_own };

// A free that looks wrong, for --check. `marked_by` is the number of a function, plus one.
enum candidate { candidate_double_free = 1, candidate_never_allocated, candidate_mismatched };
struct candidate_record {
  u32 type;
  u32 space;
  u32 kind;                    // enum candidate
  u32 allocated_by, freed_by;  // functions; the first only if there is a stack for it
  u32 families;  // mismatched: family of the block << 8 | of the free (enum call_family)
  u64 address, size;
  // Never allocated: when its space began; mismatched: when it was allocated; double free: when it
  // was first freed.
  u64 since;
  u32 marked_by;  // mismatched: the function whose mark set the family of the free; 0 = none
  u32 pad;
  u64 freeing;     // stack of this free
  u64 allocating;  // of the allocation; 0 when unknown
  u64 freed;       // double free: of the first free
};

#ifdef __cplusplus
}  // namespace memflame::bpf
#endif
