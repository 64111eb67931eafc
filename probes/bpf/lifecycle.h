// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Decides which processes are traced. Follows fork, exec, exit, renaming, moves between cgroups and
// changes of mapped code, and sends records of these to user space.
//
// In a run of several probes, the first object does that for all: it leads. The others share its
// tables, and attach only the programs named memflame_follow_…, which do what their probe does at
// the event. On one tracepoint, programs run in the order in which they were attached: a process
// must have begun before followers look at it, and end after that.
#pragma once

#include "cgroups.h"
#include "code_slots.h"
#include "memory.h"

// `task` runs in this address space, so the counts that it holds back before 6.2 belong to the
// space.
ALWAYS_INLINE void read_memory(struct task_struct* task, struct mm_struct* mm,
                               struct space_record* record) {
  record->has_memory = 1;
  record->vm_pages = BPF_CORE_READ(mm, total_vm);
  record->stack_pages = BPF_CORE_READ(mm, stack_vm);
  record->start_brk = BPF_CORE_READ(mm, start_brk);
  record->brk = BPF_CORE_READ(mm, brk);
  for (u32 i = 0; i < 4; ++i) {
    record->rss[i] = resident(mm, i);
    if (counters_are_batched_per_task()) record->rss[i] += collected(task, i);
  }
}

enum { task_is_exiting = 4 };  // PF_EXITING of linux/sched.h

// A space also ends by exec; its task then has no exit status.
ALWAYS_INLINE void read_exit(struct task_struct* task, struct space_record* record) {
  if (!(BPF_CORE_READ(task, flags) & task_is_exiting)) return;
  record->exit_status = BPF_CORE_READ(task, exit_code);
  record->out_of_memory = BPF_CORE_READ(task, signal, oom_mm) != 0;
}

// `other`: the parent's space of a fork, the enum exec_by of an exec.
ALWAYS_INLINE void tell_space(u32 space, u32 other, enum space_reason reason,
                              struct task_struct* task, struct mm_struct* mm) {
  struct space_record record = {.type = record_space,
                                .space = space,
                                .time = bpf_ktime_get_ns(),
                                .tgid = shown_tgid(task),
                                .parent_space = reason == space_fork ? other : 0,
                                .reason = reason,
                                .by = reason == space_fork ? 0 : other,
                                .cgroup = cgroup_of(task)};
  if (mm) read_memory(task, mm, &record);
  if (reason == space_end) read_exit(task, &record);
  BPF_CORE_READ_STR_INTO(&record.comm, task, group_leader, comm);
  // Starts and ends are rare and worth a wake-up: user space must read the new maps soon.
  if (bpf_ringbuf_output(&ring, &record, sizeof(record), BPF_RB_FORCE_WAKEUP))
    COUNT(event_drops, 1);
}

// Begins a new incarnation of a process. Its counters start at the kernel's present figures.
ALWAYS_INLINE u32 begin_space(u32 tgid, struct mm_struct* mm, u32 parent_code, u32 from_exec) {
  u32 id = __sync_fetch_and_add(&globals.next_space, 1) + 1;
  struct process process = {
      .space = id, .code = claim_code_slot(id, parent_code), .from_exec = from_exec};
  struct space space = {.mm = (u64)mm};
  if (mm) {
    space.brk = BPF_CORE_READ(mm, brk);
    for (u32 i = 0; i < 4; ++i) space.rss[i] = resident(mm, i);
  }
  if (bpf_map_update_elem(&spaces, &id, &space, BPF_ANY) ||
      bpf_map_update_elem(&processes, &tgid, &process, BPF_ANY)) {
    COUNT(process_full, 1);
    return 0;
  }
  return id;
}

ALWAYS_INLINE int is_wanted_name(const char comm[comm_length]) {
  if (!config.by_comm) return 0;
  for (int i = 0; i < comm_length; ++i) {
    if (comm[i] != config.comm[i]) return 0;
    if (!comm[i]) break;
  }
  return 1;
}

ALWAYS_INLINE int has_wanted_name(struct task_struct* leader) {
  char comm[comm_length] = {};
  BPF_CORE_READ_STR_INTO(&comm, leader, comm);
  return is_wanted_name(comm);
}

// Begins to watch a process that already runs: the child of an unwatched process, or one that was
// renamed or moved to another cgroup.
ALWAYS_INLINE void find_process(u32 tgid, struct task_struct* leader, struct mm_struct* mm) {
  u32 space = begin_space(tgid, mm, 0, 0);
  if (space) tell_space(space, 0, space_found, leader, mm);
}

SEC("raw_tp/sched_process_fork")
int memflame_fork(struct bpf_raw_tracepoint_args* ctx) {
  struct task_struct* parent = (void*)ctx->args[0];
  struct task_struct* child = (void*)ctx->args[1];
  u32 parent_tgid = BPF_CORE_READ(parent, tgid), tgid = BPF_CORE_READ(child, tgid);
  if (parent_tgid == tgid || parent_tgid == config.self || !config.follow_children) return 0;
  struct process* process = bpf_map_lookup_elem(&processes, &parent_tgid);
  if (process && process->waits_for_exec) return 0;
  if (!process && !config.by_cgroup) return 0;
  struct mm_struct* mm = BPF_CORE_READ(child, mm);
  int shares = mm && mm == BPF_CORE_READ(parent, mm);
  // A child may be born into another cgroup than its parent's.
  if (config.by_cgroup && !shares && !is_in_wanted_cgroup(child)) return 0;
  if (!process) {
    if (mm && !shares && is_visible(child)) find_process(tgid, child, mm);
    return 0;
  }
  u32 parent_space = process->space, code = process->code;
  if (shares) {
    // vfork: the child changes its parent's memory.
    struct process borrower = {.space = parent_space, .borrows = 1, .code = code};
    if (bpf_map_update_elem(&processes, &tgid, &borrower, BPF_ANY)) COUNT(process_full, 1);
    if (config.tell_borrows) tell_space(parent_space, 0, space_borrow, child, 0);
    return 0;
  }
  u32 space = begin_space(tgid, mm, code, 0);
  if (!space) return 0;
  after_fork(space, parent_space);
  tell_space(space, parent_space, space_fork, child, mm);
  return 0;
}

// Whether a process that has just called exec is one of the targets.
ALWAYS_INLINE int is_wanted_at_exec(struct process* process, struct task_struct* task) {
  if (config.until_exec) return process && process->waits_for_exec;
  if (config.by_cgroup) return is_in_wanted_cgroup(task) && is_visible(task);
  if (process) return 1;
  return (config.whole_system || has_wanted_name(task)) && is_visible(task);
}

// Runs in the process that has just called exec, at the end of the system call.
SEC("raw_tp/sched_process_exec")
int memflame_exec(struct bpf_raw_tracepoint_args* ctx) {
  struct task_struct* task = (void*)ctx->args[0];
  u32 tgid = BPF_CORE_READ(task, tgid);
  u32 by = (u32)ctx->args[1] == tgid ? by_first_thread : by_another;
  struct process* process = bpf_map_lookup_elem(&processes, &tgid);
  if (tgid == config.self) return 0;
  int wanted = is_wanted_at_exec(process, task);
  if (!process && !wanted) return 0;
  if (process && process->space && !process->borrows && !process->waits_for_exec) {
    tell_space(process->space, wanted ? by : by_nobody, space_end, task, 0);
    forget_unmapped(process->space);
  }
  if (!wanted) {
    if (process && config.until_exec) tell_space(process->space, 0, space_left, task, 0);
    bpf_map_delete_elem(&processes, &tgid);
    return 0;
  }
  struct mm_struct* mm = BPF_CORE_READ(task, mm);
  u32 space = begin_space(tgid, mm, 0, 1);
  if (!space) return 0;
  tell_space(space, by, space_exec, task, mm);
  after_exec(space, mm);
  return 0;
}

// A process that renames itself (prctl, pthread_setname_np on the main thread) can become a target.
SEC("raw_tp/task_rename")
int memflame_rename(struct bpf_raw_tracepoint_args* ctx) {
  struct task_struct* task = (void*)ctx->args[0];
  const char* name = (const char*)ctx->args[1];
  char comm[comm_length] = {};
  u32 tgid = BPF_CORE_READ(task, tgid);
  if (tgid != (u32)BPF_CORE_READ(task, pid) || tgid == config.self) return 0;
  bpf_probe_read_kernel_str(comm, sizeof(comm), name);
  if (!is_wanted_name(comm) || !is_visible(task)) return 0;
  if (bpf_map_lookup_elem(&processes, &tgid)) return 0;
  find_process(tgid, task, BPF_CORE_READ(task, mm));
  return 0;
}

// A process is moved into one of the cgroups. One that is moved out is watched until it ends or
// calls exec, so that the frees of its blocks are seen.
SEC("raw_tp/cgroup_attach_task")
int memflame_cgroup_attach(struct bpf_raw_tracepoint_args* ctx) {
  struct task_struct* task = (void*)ctx->args[2];
  struct task_struct* leader = BPF_CORE_READ(task, group_leader);
  u32 tgid = BPF_CORE_READ(task, tgid);
  if (tgid == config.self || bpf_map_lookup_elem(&processes, &tgid)) return 0;
  struct mm_struct* mm = BPF_CORE_READ(leader, mm);
  if (mm && is_in_wanted_cgroup(leader) && is_visible(leader)) find_process(tgid, leader, mm);
  return 0;
}

// Before 6.16 the memory is gone by the time of the exit event: the last figures are those at
// exit_group(2). A process that is killed leaves none.
SEC("tracepoint")
int memflame_exit_group(struct syscall_enter_args* ctx) {
  struct process* process = current_process();
  if (!process || process->borrows) return 0;
  struct task_struct* task = bpf_get_current_task_btf();
  struct mm_struct* mm = BPF_CORE_READ(task, mm);
  tell_space(process->space, 0, space_ending, task, mm);
  return 0;
}

// Code at [start, end) may be something else from now on: what was learnt there is invalid, and
// stacks are copied, or learn again, until user space has looked at the mappings.
__attribute__((noinline)) int void_code(u64 start, u64 end) {
  struct process* process = current_process();
  struct code_slot* slot = process ? code_of(process->code, process->space) : 0;
  if (!slot) return 0;
  // A program that is learning right now may not have stored yet what it saw before.
  int learnt = config.asks && is_learnt(slot->space, start, end);
  if (learnt || (config.asks && *(volatile u32*)&slot->learning))
    __sync_fetch_and_add(&slot->voided, 1);
  int listed = slot->list && is_code(slot->list, start, end);
  if (learnt || listed) note_unmapped(slot, start, end);
  if (!listed) return 0;
  struct task_struct* task = bpf_get_current_task_btf();
  __sync_fetch_and_add(&slot->unmaps, 1);
  *(volatile u64*)&slot->list = 0;
  tell_space(process->space, 0, space_unmapped, task, 0);
  return 1;
}

ALWAYS_INLINE struct pt_regs* user_registers(void) {
  return (void*)bpf_task_pt_regs(bpf_get_current_task_btf());
}

// All of these run when the call ends: by then the old memory can no longer be read, or learnt
// again.
SEC("tracepoint")
int memflame_munmap(struct syscall_exit_args* ctx) {
  struct pt_regs* regs = user_registers();
  if (!ctx->ret) void_code(regs->di, regs->di + regs->si);
  return 0;
}

ALWAYS_INLINE int has_failed(s64 result) { return result < 0 && result >= -4095; }

SEC("tracepoint")
int memflame_map_over(struct syscall_exit_args* ctx) {
  struct pt_regs* regs = user_registers();
  if (!(regs->r10 & 0x10 /* MAP_FIXED */) || has_failed(ctx->ret)) return 0;
  void_code(ctx->ret, ctx->ret + regs->si);
  return 0;
}

ALWAYS_INLINE void tell_move(u64 from, u64 to, u64 size) {
  struct process* process = current_process();
  if (!process || from == to) return;
  struct move_record record = {.type = record_move,
                               .space = process->space,
                               .time = bpf_ktime_get_ns(),
                               .from = from,
                               .to = to,
                               .size = size};
  if (bpf_ringbuf_output(&ring, &record, sizeof(record), 0)) COUNT(event_drops, 1);
}

SEC("tracepoint")
int memflame_move(struct syscall_exit_args* ctx) {
  struct pt_regs* regs = user_registers();
  if (has_failed(ctx->ret)) return 0;
  tell_move(regs->di, ctx->ret, regs->si < regs->dx ? regs->si : regs->dx);
  void_code(regs->di, regs->di + regs->si);
  void_code(ctx->ret, ctx->ret + regs->dx);
  return 0;
}

// What each probe does when a thread ends. Null if its process is not watched.
ALWAYS_INLINE struct process* end_thread(u32 tgid) {
  struct process* process = bpf_map_lookup_elem(&processes, &tgid);
  if (!process) return 0;
  before_thread_exit(process->space);
  u64 thread = bpf_get_current_pid_tgid();
  bpf_map_delete_elem(&threads, &thread);
  return process;
}

SEC("raw_tp/sched_process_exit")
int memflame_exit(struct bpf_raw_tracepoint_args* ctx) {
  struct task_struct* task = (void*)ctx->args[0];
  u32 tgid = BPF_CORE_READ(task, tgid);
  struct process* process = end_thread(tgid);
  if (!process) return 0;
  if (BPF_CORE_READ(task, signal, live.counter) > 0) return 0;
  // Since 6.16 this runs before the memory is given back, so the last figures can be read here.
  if (!process->borrows && process->space) {
    tell_space(process->space, 0, space_end, task, BPF_CORE_READ(task, mm));
    forget_unmapped(process->space);
  }
  if (process->borrows && config.tell_borrows) tell_space(process->space, 0, space_return, task, 0);
  bpf_map_delete_elem(&processes, &tgid);
  return 0;
}

// The same event as memflame_fork, behind it: the child is in the table already.
SEC("raw_tp/sched_process_fork")
int memflame_follow_fork(struct bpf_raw_tracepoint_args* ctx) {
  struct task_struct* parent = (void*)ctx->args[0];
  struct task_struct* child = (void*)ctx->args[1];
  u32 parent_tgid = BPF_CORE_READ(parent, tgid), tgid = BPF_CORE_READ(child, tgid);
  if (parent_tgid == tgid) return 0;
  struct process* process = bpf_map_lookup_elem(&processes, &parent_tgid);
  if (!process || process->waits_for_exec) return 0;
  u32 parent_space = process->space;
  process = bpf_map_lookup_elem(&processes, &tgid);
  if (process && !process->borrows && !process->waits_for_exec)
    after_fork(process->space, parent_space);
  return 0;
}

// The same event as memflame_exec, behind it. If there was no room for the new space, the table may
// still have the one before, which is another memory's.
SEC("raw_tp/sched_process_exec")
int memflame_follow_exec(struct bpf_raw_tracepoint_args* ctx) {
  struct task_struct* task = (void*)ctx->args[0];
  u32 tgid = BPF_CORE_READ(task, tgid);
  struct process* process = bpf_map_lookup_elem(&processes, &tgid);
  if (!process || !process->from_exec) return 0;
  struct mm_struct* mm = BPF_CORE_READ(task, mm);
  u32 id = process->space;
  struct space* space = bpf_map_lookup_elem(&spaces, &id);
  if (space && space->mm == (u64)mm) after_exec(id, mm);
  return 0;
}

// The same event as memflame_exit, before it: the process is still in the table.
SEC("raw_tp/sched_process_exit")
int memflame_follow_exit(struct bpf_raw_tracepoint_args* ctx) {
  struct task_struct* task = (void*)ctx->args[0];
  end_thread(BPF_CORE_READ(task, tgid));
  return 0;
}
