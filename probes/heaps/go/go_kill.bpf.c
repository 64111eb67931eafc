// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copies the heap profile of a Go process at the moment when the process is killed.
//
// A thread that has SIGKILL passes signal_deliver before it gives up its memory. The out-of-memory
// killer sends SIGKILL, and takes the memory by itself only two seconds later (the oom reaper), so
// the profile is still there.
#include "../../bpf/kernel_structs.h"
#include "go_kill_records.h"

char license_name[] SEC("license") = "Dual BSD/GPL";

enum { signal_kill = 9, memory_profile = 1 };

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1 << 20);
} ring SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct go_kill_settings);
} settings SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct go_kill_walk);
} walks SEC(".maps");

ALWAYS_INLINE struct go_kill_walk* the_walk(void) {
  u32 first = 0;
  return bpf_map_lookup_elem(&walks, &first);
}

static long take_bucket(u32 index, void* unused) {
  struct go_kill_walk* walk = the_walk();
  if (!walk || !walk->next) return 1;
  struct go_bucket_record* record = &walk->record;
  const char* bucket = (void*)walk->next;
  if (bpf_probe_read_user(record, offsetof(struct go_bucket_record, rest), bucket) ||
      record->type != memory_profile) {
    walk->is_cut = 1;
    return 1;
  }
  walk->next = record->next;
  u64 addresses = record->addresses;
  if (addresses > go_most_addresses) {
    walk->unread += 1;
    return 0;
  }
  u32 rest = addresses * 8 + go_bucket_figures;
  if (rest > sizeof(record->rest)) return 1;
  if (bpf_probe_read_user(record->rest, rest, bucket + offsetof(struct go_bucket_record, rest)))
    walk->unread += 1;
  else if (bpf_ringbuf_output(&ring, record, offsetof(struct go_bucket_record, rest) + rest, 0))
    walk->dropped += 1;
  else
    walk->sent += 1;
  return 0;
}

SEC("raw_tp/signal_deliver")
int memflame_go_kill(struct bpf_raw_tracepoint_args* ctx) {
  if (ctx->args[0] != signal_kill) return 0;
  u32 first = 0;
  struct go_kill_settings* set = bpf_map_lookup_elem(&settings, &first);
  if (!set || !set->tgid || set->tgid != bpf_get_current_pid_tgid() >> 32) return 0;
  struct task_struct* task = bpf_get_current_task_btf();
  // When a process exits by itself, its other threads get SIGKILL, too.
  if ((BPF_CORE_READ(task, signal, group_exit_code) & 0x7f) != signal_kill) return 0;
  struct go_kill_walk* walk = the_walk();
  if (!walk || __sync_val_compare_and_swap(&walk->is_claimed, 0, 1)) return 0;
  walk->out_of_memory = BPF_CORE_READ(task, signal, oom_mm) != 0;
  if (bpf_probe_read_user(&walk->cycle, sizeof(walk->cycle), (void*)set->cycle) ||
      bpf_probe_read_user(&walk->next, sizeof(walk->next), (void*)set->buckets))
    walk->is_cut = 1;
  else
    bpf_loop(go_most_buckets, take_bucket, 0, 0);
  if (walk->next) walk->is_cut = 1;
  bpf_probe_read_user(&walk->cycle_after, sizeof(walk->cycle_after), (void*)set->cycle);
  walk->is_done = 1;
  return 0;
}
