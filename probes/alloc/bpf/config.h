// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the programs of alloc share with their user space, and no other probe needs. Plain C.
#pragma once

#include "../../bpf/shared.h"

#ifdef __cplusplus
namespace memflame::bpf {
#endif

enum {
  keep_steps = 256,  // steps of the table of probabilities
  keep_bits = 40,    // bits of a probability
};

// Filled by user space before load.
struct alloc_config {
  u32 check;                 // look for blocks that are freed twice or by the wrong function
  u32 usable;                // count usable sizes instead of requested ones, where they are known
  u32 trace;                 // send a record for each call
  u32 governed;              // measure the programs' own cost
  u32 ages;                  // keep the time at which a block was allocated
  u32 count_calls;           // count the calls of each probed function
  u32 events;                // tell of each block, see block_events.h …
  u32 event_bytes;           // … while less than this waits in the ring
  u32 free_stacks;           // a free has its stack, too
  u32 first_touch;           // follow who touches pages, see first_touch.h
  u64 keep[keep_steps + 1];  // see sampling.h
};

// Indices of counters.own.
enum alloc_counter {
  alloc_out_pointer_unread,
  alloc_abandoned,  // calls that began, but were not seen to end
  alloc_pools_cut,  // pools with blocks that stay live although the pool was freed
  // Governed:
  alloc_entries,      // probe hits
  alloc_stepped,      // of these, on instructions that the kernel single-steps
  alloc_returns,      // probe hits there
  alloc_timed_runs,   // one run in N …
  alloc_timed_ns,     // … and how long they took
  alloc_faults_lost,  // that had no room in the table of pages
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

// Key of own_calls: a call from the allocator's own code.
struct own_call {
  u32 function;  // index in the run's list
  s32 distance;  // bytes from the probe to the call's return address
};

enum { record_candidate = record_own, record_begin, record_end };

struct event_state {
  u64 numbers;  // of blocks, given so far
  u64 lost;     // events
  // Blocks that a realloc() took out of the table and put back. Events do not tell of that.
  u64 put_back;
};

enum { number_bits = 40, address_bits = 48 };

// A block has been freed. The last field is there only if it says something.
struct end_record {
  u32 type;
  u32 tid;  // as memflame sees it
  u64 time;
  u64 block;  // number: 40 bits | space: 24
  u64 stack;  // key of the free's stack
};
enum { plain_end_bytes = 24 };

// A block has been allocated. The last three fields are there only if they say something.
struct begin_record {
  u32 type;
  u32 tid;
  u64 time;
  u64 block;    // number: 40 bits | size beyond 16 bits: 24
  u64 stack;    // key
  u64 address;  // 48 bits | size: 16, the lowest. A size beyond 40 bits is stated as the largest
                // one
  u64 moved;    // number of the block that a realloc has ended; 0 = none
  u64 weight;
  u32 count;
  u32 pad;
};
enum { plain_begin_bytes = 40 };

// A free that looks wrong, for --check. `marked_by` is the number of a function, plus one.
enum candidate { candidate_double_free = 1, candidate_never_allocated, candidate_mismatched };
struct candidate_record {
  u32 type;
  u32 space;
  u32 kind;                    // enum candidate
  u32 allocated_by, freed_by;  // functions; allocated_by only if `allocating` is set
  u32 families;  // mismatched: family of the block << 8 | family of the free (enum call_family)
  u64 address, size;
  // Never allocated: when its space began; mismatched: when it was allocated; double free: when it
  // was first freed.
  u64 since;
  u32 marked_by;  // mismatched: the function whose mark set the family of the free; 0 = none
  u32 pad;
  u64 freeing;     // key of the stack of this free
  u64 allocating;  // key of the allocation's stack; 0 = unknown
  u64 freed;       // double free: key of the first free's stack
};

#ifdef __cplusplus
}  // namespace memflame::bpf
#endif
