// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The mmap probe: every successful mmap, munmap, mremap and mprotect, as an event. Rates are low
// enough for user space to keep the intervals (probes/mmap/intervals.h).
#include "../bpf/kernel_structs.h"
#include "../bpf/shared.h"

struct probe_state {
  u64 args[6];  // of the call in flight
  u32 space;    // 0 = none in flight
  u32 call;
};

#include "../bpf/capture.h"
ALWAYS_INLINE void after_exec(u32 space, struct mm_struct* mm) {}
ALWAYS_INLINE void after_fork(u32 space, u32 parent_space) {}
ALWAYS_INLINE void before_thread_exit(u32 space) {}
#include "../bpf/call.h"
#include "../bpf/lifecycle.h"

ALWAYS_INLINE u32 call_of(s64 number) {
  switch (number) {  // x86-64 system call numbers
    case 9:
      return call_mmap;
    case 10:
      return call_mprotect;
    case 11:
      return call_munmap;
    case 25:
      return call_mremap;
  }
  return 0;
}

ALWAYS_INLINE struct probe_state* state_for(u32 call) {
  struct process* process = call ? current_process() : 0;
  if (!process) return 0;
  struct thread* thread = this_thread();
  if (!thread) {
    COUNT(no_state_events, 1);
    return 0;
  }
  thread->state.call = call;
  thread->state.space = process->space;
  return &thread->state;
}

// The end of a call takes only what the beginning of the same call has stored: calls that began
// before we watched are ignored.
ALWAYS_INLINE int on_leave(void* ctx, s64 number, s64 result) {
  u32 call = call_of(number);
  struct process* process = call ? current_process() : 0;
  if (!process) return 0;
  struct thread* thread = known_thread();
  if (!thread) return 0;
  struct probe_state* state = &thread->state;
  u32 space = state->space;
  state->space = 0;
  if (!space || space != process->space || state->call != call) return 0;
  if (result < 0 && result >= -4095) return 0;  // failed: nothing has changed
  u64 args[6];
  __builtin_memcpy(args, state->args, sizeof(args));
  u64 bytes = call == call_mmap ? args[1] : 0;
  COUNT(events, 1);
  COUNT(amount, bytes);
  return send_event(ctx, process, call, args, result, bytes);
}

// The arguments are taken from the saved registers: a program that reads six of them from its
// context would not be accepted for calls that have fewer.
ALWAYS_INLINE int on_enter(s64 number) {
  struct probe_state* state = state_for(call_of(number));
  if (!state) return 0;
  struct pt_regs* regs = (void*)bpf_task_pt_regs(bpf_get_current_task_btf());
  state->args[0] = regs->di;
  state->args[1] = regs->si;
  state->args[2] = regs->dx;
  state->args[3] = regs->r10;
  state->args[4] = regs->r8;
  state->args[5] = regs->r9;
  return 0;
}

SEC("tracepoint")
int memflame_enter(struct syscall_enter_args* ctx) { return on_enter(ctx->nr); }

SEC("tracepoint")
int memflame_leave(struct syscall_exit_args* ctx) { return on_leave(ctx, ctx->nr, ctx->ret); }

SEC("raw_tp/sys_enter")
int memflame_raw_enter(struct bpf_raw_tracepoint_args* ctx) { return on_enter(ctx->args[1]); }

SEC("raw_tp/sys_exit")
int memflame_raw_leave(struct bpf_raw_tracepoint_args* ctx) {
  struct pt_regs* regs = (void*)ctx->args[0];
  return on_leave(ctx, BPF_CORE_READ(regs, orig_ax), ctx->args[1]);
}
