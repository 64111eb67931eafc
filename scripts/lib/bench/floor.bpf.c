// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The least that a tracer of allocations, or of page faults, can do: probes that do nothing, and
// the plainest programs that know afterwards which stacks own which bytes. There are no other
// processes here, no nested calls and no losses to account for. The second needs the first.
// clang-format off
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "floor.h"
// clang-format on

enum { most_frames = 127 };  // kernel.perf_event_max_stack
enum { most_stacks = 1 << 14, most_blocks = 1 << 20 };

struct call {
  __u64 size;
};

struct block {
  __u64 size;
  long stack;
};

struct totals {
  __u64 bytes, count, live_bytes, live_count;
};

struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct call);
} calls SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, most_blocks);
  __type(key, __u64);
  __type(value, struct block);
} blocks SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, most_stacks);
  __type(key, long);
  __type(value, struct totals);
} sums SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_STACK_TRACE);
  __uint(max_entries, most_stacks);
  __uint(key_size, sizeof(__u32));
  __uint(value_size, most_frames * sizeof(__u64));
} stacks SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 16 << 20);
} ring SEC(".maps");

static __always_inline void report(__u64 address, __u64 size, long stack) {
  struct floor_record* record = bpf_ringbuf_reserve(&ring, sizeof(*record), 0);
  if (!record) return;
  record->address = address;
  record->size = size;
  record->stack = stack;
  record->time = bpf_ktime_get_ns();
  bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

static __always_inline void drop(__u64 address) {
  struct block* found = bpf_map_lookup_elem(&blocks, &address);
  if (!found) return;
  struct block block = *found;
  bpf_map_delete_elem(&blocks, &address);
  struct totals* sum = bpf_map_lookup_elem(&sums, &block.stack);
  if (sum) {
    __sync_fetch_and_add(&sum->live_bytes, -block.size);
    __sync_fetch_and_add(&sum->live_count, -1);
  }
  report(address, 0, block.stack);
}

static __always_inline void begin(struct pt_regs* ctx, __u64* size) {
  switch (bpf_get_attach_cookie(ctx)) {
    case floor_calloc:
      *size = PT_REGS_PARM1(ctx) * PT_REGS_PARM2(ctx);
      break;
    case floor_realloc:
      *size = PT_REGS_PARM2(ctx);
      if (PT_REGS_PARM1(ctx)) drop(PT_REGS_PARM1(ctx));
      break;
    default:
      *size = PT_REGS_PARM1(ctx);
  }
}

static __always_inline void finish(struct pt_regs* ctx, __u64 size) {
  __u64 address = PT_REGS_RC(ctx);
  if (!address) return;
  // At the return the caller is there for the kernel's walk to find.
  struct block block = {size, bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK)};
  struct totals* sum = bpf_map_lookup_elem(&sums, &block.stack);
  if (!sum) {
    struct totals empty = {};
    bpf_map_update_elem(&sums, &block.stack, &empty, BPF_NOEXIST);
    sum = bpf_map_lookup_elem(&sums, &block.stack);
  }
  if (sum) {
    __sync_fetch_and_add(&sum->bytes, size);
    __sync_fetch_and_add(&sum->count, 1);
    __sync_fetch_and_add(&sum->live_bytes, size);
    __sync_fetch_and_add(&sum->live_count, 1);
  }
  bpf_map_update_elem(&blocks, &address, &block, BPF_ANY);
  report(address, size, block.stack);
}

SEC("uprobe")
int empty_enter(void* ctx) { return 0; }

SEC("uretprobe")
int empty_return(void* ctx) { return 0; }

SEC("uprobe")
int empty_free(void* ctx) { return 0; }

SEC("uprobe")
int empty_session(void* ctx) { return 0; }

SEC("uprobe")
int full_enter(struct pt_regs* ctx) {
  struct call* call =
      bpf_task_storage_get(&calls, bpf_get_current_task_btf(), 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
  if (call) begin(ctx, &call->size);
  return 0;
}

SEC("uretprobe")
int full_return(struct pt_regs* ctx) {
  struct call* call = bpf_task_storage_get(&calls, bpf_get_current_task_btf(), 0, 0);
  if (call) finish(ctx, call->size);
  return 0;
}

SEC("uprobe")
int full_free(struct pt_regs* ctx) {
  if (PT_REGS_PARM1(ctx)) drop(PT_REGS_PARM1(ctx));
  return 0;
}

// From 6.13 on: one program for the entry and the return of a call, which carries a word from one
// to the other.
extern _Bool bpf_session_is_return(void) __ksym __weak;
extern __u64* bpf_session_cookie(void) __ksym __weak;

SEC("uprobe")
int full_session(struct pt_regs* ctx) {
  __u64* size = bpf_session_cookie();
  if (bpf_session_is_return())
    finish(ctx, *size);
  else
    begin(ctx, size);
  return 0;
}

SEC("raw_tracepoint")
int empty_fault(void* ctx) { return 0; }

char licence[] SEC("license") = "GPL";
