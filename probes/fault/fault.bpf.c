// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The fault probe: which stacks make pages resident, and which take page faults.
//
// Resident pages come from the kernel's own counters: its tracepoint rss_stat fires after each
// change of one of them, and the difference to the value before is what the running code has gained
// or released. The differences of a process add up to the change of its VmRSS whatever the order in
// which CPUs arrive, and so cover huge pages, fault-around, MAP_POPULATE and releases alike.
//
// Before 6.2 the kernel collects up to 64 faults in each task before it moves them to that counter.
// There the task's own collection is read at the next fault, and given to the stack of the last.
//
// With --every N, each page (or fault) has a chance of 1 in N to bring in the stack of its event,
// and stands for N; an event of N pages or more is always taken, and counts as it is. What all
// events come to is kept per space, so that totals stay exact.
#include "../bpf/kernel_structs.h"
#include "../bpf/shared.h"
#include "config.h"

const volatile struct fault_config own SEC(".rodata.own") = {};

struct probe_state {
  u64 last;          // key of the stack of the last fault, or passed_over
  u64 major_seen;    // the task's count of major faults at that time
  s64 collected[4];  // pages of the task's own collection that are accounted for (before 6.2)
  u32 space;
  u32 filling;  // the call that runs now makes pages resident without faults (before 6.2)
};

#include "../bpf/account.h"
#include "../bpf/capture.h"
#include "../bpf/memory.h"

enum { gained, released, page_events };  // --value pages
enum { minor, major };                   // --value faults

// The key of an event that is not in the sample. No note has this key, because spaces count from 1.
enum { passed_over = 0xff };

ALWAYS_INLINE int is_sampling(void) { return own.every > 1; }

// A random number below N. It is made by multiplication, because a remainder would prefer small
// numbers.
ALWAYS_INLINE u64 draw(void) {
  return is_sampling() ? (u64)bpf_get_prandom_u32() * own.every >> 32 : 0;
}

// Events that are not the program's own doing have no stack to take, so all of them are counted.
ALWAYS_INLINE int is_sampled_kind(u64 key) {
  u64 note = key >> 63 ? note_none : key & 0xff;
  return is_sampling() && note != note_exec && note != note_other_task;
}

// Adds `value`, whose stack was taken with a chance of `size` in N. Then value / chance is added;
// an unbiased estimate of its variance is value² (1 - chance) / chance². The column of variances is
// in units of N, which user space knows.
ALWAYS_INLINE void add(struct space* space, u64 key, u32 column, u64 value, u64 size) {
  if (is_sampling() && space) __sync_fetch_and_add(&space->totals[column & 1], value);
  if (key == passed_over) return;
  u32 counter = own.pages ? page_events : columns;
  if (!is_sampled_kind(key)) {
    account_event(key, column, value, counter, 1);
    return;
  }
  if (size >= own.every) {
    account_event(key, column, value, counter, 1);
    return;
  }
  u64 ratio = size ? value / size : 0;  // exact: one of them is 1, or both are equal
  account_event(key, column, ratio * own.every, counter, size ? own.every / size : 1);
  account(key, first_variance + column, ratio * ratio * (own.every - size));
}

// `size`: how many pages were known when it was decided whether to take the stack.
ALWAYS_INLINE void add_pages(struct space* space, u64 key, s64 pages, u64 size) {
  if (pages > 0) {
    add(space, key, gained, pages, size);
    COUNT(amount, pages);
    if (key != passed_over) count_lost_stack(key, pages * 4096);
  } else if (pages < 0) {
    add(space, key, released, -pages, size);
  }
}

ALWAYS_INLINE struct space* space_of(u32 id) { return bpf_map_lookup_elem(&spaces, &id); }

// What the kernel itself has made resident to start a program.
ALWAYS_INLINE void after_exec(u32 space, struct mm_struct* mm) {
  if (!own.pages || !globals.armed) return;
  for (u32 member = 0; member < 4; ++member)
    if (member != swap_entries)
      add_pages(space_of(space), note_key(space, note_exec), resident(mm, member), 1);
}

static __attribute__((noinline)) int collection_is_full(struct task_struct* task) {
  struct task_struct___batched* old = (void*)task;
  return BPF_CORE_READ(old, rss_stat.events) > 64;
}

// Gives what the task has collected since the last look to the stack of its last fault.
ALWAYS_INLINE void settle_pages(struct task_struct* task, struct probe_state* state) {
  struct space* space = is_sampling() ? space_of(state->space) : 0;
  for (u32 member = 0; member < 4; ++member) {
    if (member == swap_entries) continue;
    s64 now = collected(task, member);
    add_pages(space, state->last, now - state->collected[member], 1);
    state->collected[member] = now;
  }
}

ALWAYS_INLINE void settle_major(struct task_struct* task, struct probe_state* state) {
  s64 more = task->maj_flt - state->major_seen;
  if (!state->last || more <= 0) return;
  struct space* space = is_sampling() ? space_of(state->space) : 0;
  add(space, state->last, major, more, 1);
  if (space) __sync_fetch_and_add(&space->totals[minor], (u64)-more);
  if (state->last == passed_over) return;
  if (!is_sampled_kind(state->last)) {
    account(state->last, minor, -more);
    return;
  }
  // What was 1 minor fault is 1 - more now, so its square changes by (more - 2) * more.
  account(state->last, minor, -more * own.every);
  account(state->last, first_variance + minor, (more - 2) * more * (own.every - 1));
}

ALWAYS_INLINE void after_fork(u32 space, u32 parent_space) {}

ALWAYS_INLINE void before_thread_exit(u32 space) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct thread* thread = known_thread();
  if (!thread || thread->state.space != space || !thread->state.last) return;
  if (!own.pages)
    settle_major(task, &thread->state);
  else if (counters_are_batched_per_task())
    settle_pages(task, &thread->state);
}

#include "../bpf/lifecycle.h"

// Whether the kernel is filling the memory of a program before its start. The registers are still
// those of the program that called exec(), whose stack is gone.
ALWAYS_INLINE int is_starting(struct space* space, struct task_struct* task) {
  if (!space) return 0;
  if (!space->mm) space->mm = (u64)task->mm;
  return space->mm != (u64)task->mm;
}

ALWAYS_INLINE u64 key_of_fault(void* ctx, struct process* process, struct space* space,
                               struct task_struct* task) {
  if (is_starting(space, task)) return note_key(process->space, note_exec);
  return draw() == 0 ? capture(ctx, process, 0) : passed_over;
}

// args: address, registers, error code. The event comes before the kernel handles the fault.
ALWAYS_INLINE int on_fault(void* ctx) {
  struct process* process = current_process();
  if (!process) return 0;
  struct task_struct* task = bpf_get_current_task_btf();
  struct space* space = space_of(process->space);
  struct thread* thread = this_thread();
  COUNT(events, 1);
  if (!thread) {
    COUNT(no_state_events, 1);
    u64 key = draw() == 0 ? note_key(process->space, note_no_state) : passed_over;
    if (!own.pages) add(space, key, minor, 1, 1);
    return 0;
  }
  struct probe_state* state = &thread->state;
  if (state->space != process->space) {  // first fault of this thread, or of a new program
    __builtin_memset(state, 0, sizeof(*state));
    state->space = process->space;
    if (own.pages && counters_are_batched_per_task())
      for (u32 member = 0; member < 4; ++member) state->collected[member] = collected(task, member);
  } else if (own.pages) {
    if (counters_are_batched_per_task()) settle_pages(task, state);
  } else {
    settle_major(task, state);
  }
  state->major_seen = task->maj_flt;
  state->last = key_of_fault(ctx, process, space, task);
  if (!own.pages) {
    add(space, state->last, minor, 1, 1);
    COUNT(amount, 1);
    count_lost_stack(state->last, 0);
  }
  return 0;
}

SEC("raw_tp/page_fault_user")
int memflame_fault_user(struct bpf_raw_tracepoint_args* ctx) { return on_fault(ctx); }

// Faults the kernel takes on a user address on behalf of the task: read(2) into a fresh buffer.
SEC("raw_tp/page_fault_kernel")
int memflame_fault_kernel(struct bpf_raw_tracepoint_args* ctx) {
  struct task_struct* task = bpf_get_current_task_btf();
  // Reads that must not sleep (such as our own stack walks) fail instead of making a page resident.
  if (ctx->args[0] >= 1ULL << 47 || !task->mm || task->pagefault_disabled) return 0;
  return on_fault(ctx);
}

// Before 6.2: a counter has changed by `delta`. Gives the last fault its share of that, and returns
// the share of the running call.
ALWAYS_INLINE s64 settle_batch(struct task_struct* task, struct probe_state* state,
                               struct space* space, u32 id, u32 member, s64 delta) {
  if (state->space != id) {
    __builtin_memset(state, 0, sizeof(*state));
    state->space = id;
  }
  state->filling = 0;
  s64 moved = collected(task, member);
  if (!moved || delta != moved) return delta;  // changed directly: a huge page, an unmapping
  // The collection is moved to the process and will be zero right after this event. What is not yet
  // accounted for is the last fault's, unless the move comes because the task has made too many
  // pages resident (TASK_RSS_EVENTS_THRESH): then they came without fault events, by the running
  // call (MAP_POPULATE), except for the one page of the last fault.
  s64 rest = moved - state->collected[member];
  s64 of_last = collection_is_full(task) && rest > 0 ? 1 : rest;
  if (!state->last) of_last = 0;
  if (of_last) add_pages(space, state->last, of_last, 1);
  state->collected[member] = 0;
  state->filling = rest != of_last;
  return rest - of_last;
}

// args: mm, member, and before 6.2 the new count.
SEC("raw_tp/rss_stat")
int memflame_rss(struct bpf_raw_tracepoint_args* ctx) {
  struct mm_struct* mm = (void*)ctx->args[0];
  u32 member = ctx->args[1];
  struct task_struct* task = bpf_get_current_task_btf();
  int is_own = task->mm == mm;
  u32 tgid = task->tgid;
  if (member > 3 || member == swap_entries) return 0;
  if (!is_own) {
    // Teardown after the last user has gone is the end of the process, not a release by it.
    if (!bpf_core_field_exists(mm->owner) || BPF_CORE_READ(mm, mm_users.counter) <= 0) return 0;
    tgid = BPF_CORE_READ(mm, owner, tgid);
  }
  struct process* process = bpf_map_lookup_elem(&processes, &tgid);
  if (!process || process->waits_for_exec || !globals.armed) return 0;
  u32 id = process->space;
  struct space* space = space_of(id);
  if (!space) return 0;
  if (!space->mm && is_own) space->mm = (u64)mm;
  // During fork and exec a new mm is filled before its process uses it.
  if (space->mm != (u64)mm) return 0;

  s64 value = is_own ? own_resident(task, (u64)mm, space, member) : resident(mm, member);
  asm volatile("%0 &= 3" : "+r"(member));  // the verifier has forgotten the check above
  s64 delta = value - (s64)__sync_lock_test_and_set((u64*)&space->rss[member], (u64)value);
  COUNT(events, 1);
  if (!is_own) {
    add_pages(space, note_key(id, note_other_task), delta, 1);
    return 0;
  }
  if (!delta) return 0;
  struct thread* thread = counters_are_batched_per_task() ? this_thread() : 0;
  s64 own_pages = delta;
  if (thread) own_pages = settle_batch(task, &thread->state, space, id, member, delta);
  if (!own_pages) return 0;
  u64 size = own_pages > 0 ? own_pages : -own_pages, drawn = draw();
  u64 key = drawn < size ? capture(ctx, process, 0) : passed_over;
  add_pages(space, key, own_pages, size);
  // How many pages the call may still collect is unknown, so their chance is 1 in N.
  if (thread && thread->state.filling) thread->state.last = drawn == 0 ? key : passed_over;
  return 0;
}
