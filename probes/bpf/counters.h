// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What programs count.
#pragma once

#include "record.h"

#ifdef __cplusplus
namespace memflame::bpf {
#endif

enum { own_counters = 9 };

// counters: per-CPU array entries of this shape. Names follow core/losses.def.
struct counters {
  u64 events;
  u64 amount;  // what the status line shows: bytes or pages seen
  u64 live_full_events, live_full_bytes;
  u64 stack_full_events, stack_full_bytes;
  u64 ring_full_events, ring_full_bytes;
  u64 event_drops, event_drop_bytes;
  u64 process_full;
  u64 no_state_events, no_state_bytes;
  u64 freed, freed_bytes;               // blocks that left the live table
  u64 free_misses;                      // frees of blocks allocated before the start, or lost
  u64 inherited_frees;                  // frees of blocks from before a fork
  u64 unseen_frees, unseen_free_bytes;  // addresses allocated again without a free in between
  u64 passed_over;        // allocations not kept, by sampling or by --min-size and --max-size
  u64 stacks, frames;     // stacks taken, and user frames in them
  u64 copied;             // of these, how many were copied for user space
  u64 stops[stop_count];  // walks in BPF by enum stop
  u64 scripts_unread;     // stacks whose functions of an interpreter could not be read, or placed
  u64 own[own_counters];  // what only one probe counts: the enum in its config.h says which is
                          // which
};

#ifdef __cplusplus
}  // namespace memflame::bpf
#endif
