// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Which code touches a page first: the stacks of page faults, by page.
//
// User space joins them with the live blocks at the end: the first fault since a block was
// allocated made its page. The programs cannot tell, because a block is known only when malloc()
// returns, but calloc() touches it before. A page can be there, go and come again, so two faults
// are kept: with the first and the last one, user space finds the right one unless the kernel took
// a page away that an earlier block had used, too. Cost: a stack for each page that is touched, and
// an entry with 48 bytes of key and value.
#pragma once

#include "../../bpf/account.h"
#include "../../bpf/capture.h"

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 1);  // user space sets it before load
  __type(key, struct block_key);
  __type(value, struct page_faults);
} page_faults SEC(".maps");

enum { page_size = 4096, fault_of_present_page = 1 };  // X86_PF_PROT of asm/trap_pf.h

// exec fills the memory of the new program while the space is still that of the old one.
ALWAYS_INLINE int is_of_space(u32 id, struct task_struct* task) {
  struct space* space = bpf_map_lookup_elem(&spaces, &id);
  return space && (!space->mm || space->mm == (u64)task->mm);
}

// args: address, registers, error code. The event comes before the kernel handles the fault.
// Writing to a page that is there, after fork or after reading zeros, does not touch it for the
// first time.
ALWAYS_INLINE int on_touch(struct bpf_raw_tracepoint_args* ctx) {
  struct task_struct* task = bpf_get_current_task_btf();
  if (ctx->args[2] & fault_of_present_page) return 0;
  struct process* process = current_process();
  if (!process || !is_of_space(process->space, task)) return 0;
  struct block_key page = {.address = ctx->args[0] & ~(page_size - 1ULL), .space = process->space};
  const u64 now = bpf_ktime_get_ns();
  const u64 key = capture(ctx, process, 0);
  count_lost_stack(key, 0);
  struct page_faults* known = bpf_map_lookup_elem(&page_faults, &page);
  if (!known) {
    struct page_faults faults = {.first_ns = now, .first = key};
    const long error = insert(&page_faults, &page, &faults);
    if (!error) return 0;
    known = error == exists ? bpf_map_lookup_elem(&page_faults, &page) : 0;
  }
  if (!known) {
    COUNT(own[alloc_faults_lost], 1);
    return 0;
  }
  // Two threads that meet here have touched the page at the same time.
  known->last_ns = now;
  known->last = key;
  return 0;
}
