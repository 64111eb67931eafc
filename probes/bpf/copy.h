// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Buffers to assemble stacks in, and send_copy(): sends a stack to be walked in user space.
//
// The functions below are global (see walk.h); they take and return numbers: the index of an entry
// in `scratches` or `copies`, plus one; 0 is none.
#pragma once

#include "pids.h"

// Claims an entry of a map whose values begin with `busy`, beginning at this CPU's.
ALWAYS_INLINE u32 claim(void* map, u32 entries) {
  u32 cpu = bpf_get_smp_processor_id();
#pragma clang loop unroll(disable)
  for (u32 i = 0; i < 64 && i < entries; ++i) {
    u32 at = (cpu + i) % entries;
    u32* busy = bpf_map_lookup_elem(map, &at);
    if (busy && __sync_val_compare_and_swap(busy, 0, 1) == 0) return at + 1;
  }
  return 0;
}
__attribute__((noinline)) u32 claim_scratch(void) { return claim(&scratches, config.scratches); }
__attribute__((noinline)) u32 claim_copy(void) { return claim(&copies, config.copies); }

ALWAYS_INLINE struct scratch* scratch_at(u32 number) {
  u32 at = number - 1;
  return bpf_map_lookup_elem(&scratches, &at);
}

// What loops over a copy's parts work on. As functions of bpf_loop() they are verified once.
struct copying {
  struct copy_record* record;
  u64 sp;
  u64 next;  // struct return_instance*
  u32 at, limit;
  u32 bytes, missing, returns;
};

static int copy_return(u32 turn, struct copying* copying) {
  struct return_instance* instance = (void*)copying->next;
  if (turn >= max_copied_returns || !instance) return 1;
  copying->record->pending[turn].slot = BPF_CORE_READ(instance, stack);
  copying->record->pending[turn].address = BPF_CORE_READ(instance, orig_ret_vaddr);
  copying->next = (u64)BPF_CORE_READ(instance, next);
  copying->returns = turn + 1;
  return 0;
}

// Page by page: reading fails beyond the end of the stack, and in buffers that were never touched.
static int copy_page(u32 turn, struct copying* copying) {
  u32 at = copying->at, limit = copying->limit;
  if (turn >= max_copy_bytes / 4096 || at >= limit || at > max_copy_bytes - 4096) return 1;
  u64 from = copying->sp + at;
  u32 piece = 4096 - (from & 4095);
  if (piece > limit - at) piece = limit - at;
  long failed = bpf_probe_read_user(copying->record->stack + at, piece & 4095 ? piece & 4095 : 4096,
                                    (void*)from);
  copying->at = at + piece;
  if (failed)
    copying->missing |= 1U << turn;
  else
    copying->bytes = at + piece;
  return 0;
}

// Sends registers and stack of the current task, to be walked in user space. `key` stands for the
// stack; with `checks`, it is the hash of the stack, which was walked already. Returns the key; 0
// if it could not be sent.
__attribute__((noinline)) u64 send_copy(u32 number, u32 entry, u64 key, u32 checks) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct scratch* scratch = scratch_at(number);
  u32 at_copy = claim_copy() - 1;
  struct copy* copy = bpf_map_lookup_elem(&copies, &at_copy);
  if (!copy) return 0;
  if (!scratch) {
    copy->busy = 0;
    return 0;
  }
  struct stack_record* stack = &scratch->stack;
  struct copy_record* record = &copy->record;
  record->type = record_copy;
  record->space = stack->space;
  record->key = key;
  record->time = bpf_ktime_get_ns();
  record->tgid = shown_tgid(task);
  record->entry = entry;
  record->checks = checks;
  BPF_CORE_READ_STR_INTO(&record->comm, task, group_leader, comm);
  struct pt_regs* regs = &copy->regs;
  bpf_probe_read_kernel(regs, sizeof(*regs), (void*)bpf_task_pt_regs(task));
  record->regs[0] = regs->ax;
  record->regs[1] = regs->dx;
  record->regs[2] = regs->cx;
  record->regs[3] = regs->bx;
  record->regs[4] = regs->si;
  record->regs[5] = regs->di;
  record->regs[dwarf_rbp] = regs->bp;
  record->regs[dwarf_rsp] = regs->sp;
  record->regs[8] = regs->r8;
  record->regs[9] = regs->r9;
  record->regs[10] = regs->r10;
  record->regs[11] = regs->r11;
  record->regs[12] = regs->r12;
  record->regs[13] = regs->r13;
  record->regs[14] = regs->r14;
  record->regs[15] = regs->r15;
  record->regs[dwarf_rip] = scratch->ip;
  record->returned = scratch->returned;
  record->unknown = scratch->walk.unknown ? row_address(&scratch->walk.at) : 0;
  record->kernel_frames = stack->kernel_frames;
  bpf_probe_read_kernel(record->kernel, sizeof(record->kernel), stack->pcs);
  struct copying copying = {.record = record,
                            .sp = regs->sp,
                            .next = trampolines_of(task).next,
                            .limit = config.copy_bytes};
  bpf_loop(max_copied_returns, copy_return, &copying, 0);
  record->returns = copying.returns;
  // Above the start of the first thread's stack are the program's arguments and environment.
  u64 begin = BPF_CORE_READ(task, mm, start_stack) + 64;
  if (copying.sp < begin && begin - copying.sp < copying.limit) copying.limit = begin - copying.sp;
  bpf_loop(max_copy_bytes / 4096, copy_page, &copying, 0);
  record->bytes = copying.bytes;
  record->missing = copying.missing;
  u32 size = __builtin_offsetof(struct copy_record, stack) + copying.bytes;
  if (size > sizeof(*record)) size = sizeof(*record);
  long error = bpf_ringbuf_output(&ring, record, size, wake_if_filling());
  copy->busy = 0;
  return error ? 0 : key;
}
