// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The brk probe: who moves the program break. One event per call, with the break before and after.
#include "../bpf/kernel_structs.h"
#include "../bpf/shared.h"

struct probe_state {
  u32 unused;
};

#include "../bpf/capture.h"
ALWAYS_INLINE void after_exec(u32 space, struct mm_struct* mm) {}
ALWAYS_INLINE void after_fork(u32 space, u32 parent_space) {}
ALWAYS_INLINE void before_thread_exit(u32 space) {}
#include "../bpf/call.h"
#include "../bpf/lifecycle.h"

enum { number_brk = 12 };

// The break before the first call we see. Later ones are known from the call before.
ALWAYS_INLINE int on_enter(void) {
  struct process* process = current_process();
  if (!process) return 0;
  u32 id = process->space;
  struct space* space = bpf_map_lookup_elem(&spaces, &id);
  struct task_struct* task = bpf_get_current_task_btf();
  if (space && !space->brk) space->brk = BPF_CORE_READ(task, mm, brk);
  return 0;
}

// brk(2) returns the break that is in force now, whether the call succeeded or not.
ALWAYS_INLINE int on_exit(void* ctx, u64 now) {
  struct process* process = current_process();
  if (!process) return 0;
  u32 id = process->space;
  struct space* space = bpf_map_lookup_elem(&spaces, &id);
  if (!space || !space->brk) return 0;  // the call began before we watched
  u64 before = __sync_lock_test_and_set(&space->brk, now);
  u64 args[6] = {before, now};
  COUNT(events, 1);
  if (now > before) COUNT(amount, now - before);
  return send_event(ctx, process, call_brk, args, now, now > before ? now - before : 0);
}

SEC("tracepoint")
int memflame_enter(struct syscall_enter_args* ctx) { return on_enter(); }

SEC("tracepoint")
int memflame_leave(struct syscall_exit_args* ctx) { return on_exit(ctx, ctx->ret); }

SEC("raw_tp/sys_enter")
int memflame_raw_enter(struct bpf_raw_tracepoint_args* ctx) {
  return ctx->args[1] == number_brk ? on_enter() : 0;
}

SEC("raw_tp/sys_exit")
int memflame_raw_leave(struct bpf_raw_tracepoint_args* ctx) {
  struct pt_regs* regs = (void*)ctx->args[0];
  if (BPF_CORE_READ(regs, orig_ax) != number_brk) return 0;
  return on_exit(ctx, ctx->args[1]);
}
