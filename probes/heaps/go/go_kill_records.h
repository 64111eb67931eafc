// SPDX-License-Identifier: BSD-2-Clause
// What the program that reads Go's heap profile of a process being killed shares with user space.
// Plain C.
#pragma once

#include "../../bpf/types.h"

#ifdef __cplusplus
namespace memflame::bpf {
#endif

enum {
  go_most_addresses = 128,   // of a stack that is taken; Go keeps no longer ones unless asked to
  go_bucket_figures = 128,   // bytes behind the addresses: four times four numbers
  go_most_buckets = 1 << 20  // that are walked
};

struct go_kill_settings {
  u32 tgid;  // in the initial PID namespace; 0 = nobody
  u32 pad;
  u64 buckets, cycle;  // addresses in the process
};

// A bucket of the runtime, as runtime/mprof.go has it.
struct go_bucket_record {
  u64 next_in_hash, next, type, hash, size, addresses;
  u8 rest[go_most_addresses * 8 + go_bucket_figures];
};

// The walk along the list. Only the first thread that is killed walks it.
struct go_kill_walk {
  u32 is_claimed, is_done;
  u32 out_of_memory;  // the kernel's out-of-memory killer has chosen the process
  u32 is_cut;         // the list could not be followed to its end
  u32 cycle;
  u32 cycle_after;
  u64 sent, dropped, unread;  // buckets
  u64 next;
  struct go_bucket_record record;
};

#ifdef __cplusplus
}  // namespace memflame::bpf
#endif
