// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Learns what code is at an address by asking the kernel, so that a new process can be walked
// before user space knows anything about it. Only the rows of the file must be loaded (`files`).
#pragma once

#include "scripts.h"

struct seen_mapping {
  u64 start, end;
  u64 offset;  // in its file
  u64 inode;   // address; 0 = no file
  u64 executable;
};

static long look_at_mapping(struct task_struct* task, struct vm_area_struct* mapping,
                            struct seen_mapping* seen) {
  struct file* file = BPF_CORE_READ(mapping, vm_file);
  seen->start = BPF_CORE_READ(mapping, vm_start);
  seen->end = BPF_CORE_READ(mapping, vm_end);
  seen->offset = BPF_CORE_READ(mapping, vm_pgoff) << 12;
  seen->executable = BPF_CORE_READ(mapping, vm_flags) & 4 /* VM_EXEC */;
  seen->inode = file ? (u64)BPF_CORE_READ(file, f_inode) : 0;
  return 0;
}

// Gives a mapping the rows of its file. False if they are not known.
ALWAYS_INLINE int give_rows(struct learnt_code* code) {
  struct known_file* file = bpf_map_lookup_elem(&files, &code->inode);
  if (!file) return 0;
  u64 offset = code->start - code->base, delta = 0;
  int found = 0;
  for (u32 i = 0; i < max_file_segments; ++i) {
    struct file_segment* segment = &file->segments[i];
    // Two segments may share a page of the file: the one that begins there is meant, if there is
    // one.
    int begins = offset == segment->from;
    if (!begins && (found || offset < segment->from || offset >= segment->to)) continue;
    delta = segment->delta;
    found = 1;
    if (begins) break;
  }
  if (!found) return 0;
  code->base += delta;
  code->first_row = file->first_row;
  code->rows = file->rows;
  return 1;
}

// Stores the mapping at an address in `code`. False if it is not code, or if the lock of the
// mappings is taken: bpf_find_vma() does not wait for it.
ALWAYS_INLINE int ask_kernel(struct task_struct* task, u64 address, struct learnt_code* code) {
  struct seen_mapping seen = {};
  if (bpf_find_vma(task, address, look_at_mapping, &seen, 0) || !seen.executable) return 0;
  code->start = seen.start;
  code->end = seen.end;
  code->base = seen.start - seen.offset;
  code->inode = seen.inode;
  code->first_row = 0;
  code->rows = code_no_table;
  if (seen.inode) return 1;
  if (seen.start == (u64)BPF_CORE_READ(task, mm, context.vdso)) {
    code->base = seen.start;
    code->inode = vdso_inode;
    return 1;
  }
  // The kernel's page of return probes and displaced instructions is not the program's code.
  if (seen.start == BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr)) return 0;
  code->rows = code_frame_pointer;
  return 1;
}

// Learns the code at the frame where a walk stopped. True if the walk can go on from there.
__attribute__((noinline)) int learn(u32 number, u32 code_slot) {
  struct scratch* scratch = scratch_at(number);
  struct code_slot* slot = bpf_map_lookup_elem(&code_slots, &code_slot);
  if (!config.learns || !scratch || !slot) return 0;
  struct walk* walk = &scratch->walk;
  u32 space = scratch->stack.space;
  // Like copying, learning ends when `copies` is used up.
  if (slot->space != space || slot->copies <= 0) return 0;
  // A guessed frame is mostly wrong, unless nothing is known of the process yet, or it is V8's:
  // that makes code all the time, and each frame of it can be told by its frame pointer.
  if (walk->at.guessed && walk->list && !scratch->walking.v8) return 0;
  struct learnt_set* set = learnt_of(space);
  if (!set) return 0;
  u64 address = row_address(&walk->at);
  struct learnt_code code = {};
  // If code is unmapped meanwhile, void_code() sees `learning` and invalidates the tag.
  __sync_fetch_and_add(&slot->learning, 1);
  walk->tag = tag_of(slot);
  u32 place = find_learnt(set, walk->tag, address, &code);
  int known = place < learnt_ways;
  if (!known) {
    known = ask_kernel(bpf_get_current_task_btf(), address, &code);
    if (known && config.scripts) meet_interpreter(code_slot, code.inode, code.base);
    place = known ? __sync_fetch_and_add(&set->next, 1) : 0;
  }
  int is_new = place >= learnt_ways || code.tag != walk->tag;
  int has_rows = known && (code.rows != code_no_table || give_rows(&code));
  if (known && (has_rows || is_new)) {
    code.tag = walk->tag;
    code.check = check_of(&code);
    set->codes[place & (learnt_ways - 1)] = code;
  }
  __sync_fetch_and_add(&slot->learning, -1);
  return has_rows;
}

// Run by user space: returns the inode mapped at args[0] in its own memory.
SEC("raw_tp/sched_process_exec")
int memflame_inode(struct bpf_raw_tracepoint_args* ctx) {
  struct seen_mapping seen = {};
  globals.inode = 0;
  if (config.learns &&
      !bpf_find_vma(bpf_get_current_task_btf(), ctx->args[0], look_at_mapping, &seen, 0))
    globals.inode = seen.inode;
  return 0;
}
