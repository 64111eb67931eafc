// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Walks a user stack by the unwind tables of the code on it (docs/development/unwinding.md).
//
// The idea: user space turns .eh_frame into rows of 8 bytes, sorted by address, so one frame up is
// a search by bisection and one or two reads of the stack. A cache from (list of mappings, address)
// to the row makes a hot frame one hash look-up: about 45 ns a frame, as much as bpf_get_stack()
// takes to follow a frame pointer (scripts/bench-stacks). Reads go through a window of 1 KiB, as
// each costs 30 ns however small it is. One step is probes/unwind/step.h, which user space and
// tests compile too. Source of the rules: DWARF 5, section 6.4, and the System V ABI for x86-64.
//
// Functions that are not static are verified once, by themselves, with unknown arguments: so the
// loop over frames costs the verifier only a few instructions per turn.
#pragma once

#include "../unwind/row.h"
#include "kernel_structs.h"
#include "learnt.h"
#include "shared.h"

extern const volatile struct config config;

// User space maps both, and publishes lists through them.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);  // user space sets them before load
  __type(key, u32);
  __type(value, struct code_slot);
} code_slots SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct code_mapping);
} code_mappings SEC(".maps");

// While a return probe is pending, the return address on the stack is the kernel's trampoline; the
// kernel keeps the true one in a list ordered from the innermost frame out. Tail calls leave
// several entries with one stack address; the last of those has the true one.
struct trampolines {
  u64 next;  // struct return_instance*
};

__attribute__((noinline)) u64 true_return_address(struct trampolines* list, u64 slot, u64 address) {
  if (!list) return address;
  for (int i = 0; i < 8 && list->next; ++i) {
    struct return_instance* instance = (void*)list->next;
    u64 stack = BPF_CORE_READ(instance, stack);
    if (stack > slot) break;
    if (stack == slot) address = BPF_CORE_READ(instance, orig_ret_vaddr);
    list->next = (u64)BPF_CORE_READ(instance, next);
  }
  return address;
}

ALWAYS_INLINE struct trampolines trampolines_of(struct task_struct* task) {
  struct uprobe_task* utask = task->utask;
  return (struct trampolines){utask ? (u64)BPF_CORE_READ(utask, return_instances) : 0};
}

struct walk;
ALWAYS_INLINE u64 returned_to(struct walk* walk, u64 slot, u64 address);
ALWAYS_INLINE long read_stack(struct walk* walk, void* to, u32 size, u64 address);

#define UNWIND_READ(frame, to, size, address) read_stack((struct walk*)(frame), to, size, address)
#define UNWIND_RETURN(frame, slot, value) returned_to((struct walk*)(frame), slot, value)
#include "../unwind/step.h"

struct walk {
  struct frame at;
  u64 list;      // of code mappings
  u64 tag;       // of learnt mappings, looked up if the list has no row; 0 = none
  u64 address;   // of the frame that the last step passed; see exact_address
  u32 at_entry;  // the leaf is at a function entry: its return address is on top
  u32 filled;    // bytes of the window
  u32 unknown;   // the walk stopped at a frame in unknown code, which is still to be taken
  u32 below;     // bytes before what is read that are read soon after it
  struct trampolines pending;
  u64 window_at;  // address of what is in the window
  u8 window[window_bytes + 8];
};

// The offset of `size` bytes of memory in the window; reads them into it if necessary.
enum { window_unreadable = 1 << 16, not_in_window };
__attribute__((noinline)) u32 in_window(struct walk* walk, u64 address, u32 size) {
  if (!walk) return not_in_window;
  u64 at = address - walk->window_at;
  if (at < window_bytes && at + size <= walk->filled) return at;
  u32 before = (address & 4095) < walk->below ? 0 : walk->below;
  u64 begin = address - before;
  u32 piece = 4096 - (begin & 4095);
  if (piece > window_bytes) piece = window_bytes;
  if (piece < before + size) return not_in_window;
  walk->filled = 0;
  if (bpf_probe_read_user(walk->window, piece, (void*)begin)) return window_unreadable;
  walk->window_at = begin;
  walk->filled = piece;
  return before;
}

// Reading user memory costs 30 ns however little it is, and 50 ns for a KiB, which holds ten to
// twenty frames. A read that fails costs 600 ns, so none goes beyond the page that is needed.
ALWAYS_INLINE long read_stack(struct walk* walk, void* to, u32 size, u64 address) {
  if (size > 16) return bpf_probe_read_user(to, size, (void*)address);
  u32 at = in_window(walk, address, size);
  if (at == window_unreadable) return -14;
  if (at > window_bytes - 8) return bpf_probe_read_user(to, size, (void*)address);
  u64* words = to;
  words[0] = *(u64*)(walk->window + at);
  if (size > 8) words[1] = *(u64*)(walk->window + at + 8);
  return 0;
}

ALWAYS_INLINE u64 returned_to(struct walk* walk, u64 slot, u64 address) {
  return walk->pending.next ? true_return_address(&walk->pending, slot, address) : address;
}

ALWAYS_INLINE struct row unpack(u32 rule) {
  return (struct row){.cfa = rule >> 16, .kind = rule >> 8, .rbp = rule};
}

// Whether a part of [start, end) holds code with a table.
__attribute__((noinline)) int is_code(u64 list, u64 start, u64 end) {
  u32 first = list & ((1 << code_first_bits) - 1);
  u32 count = list >> code_first_bits & ((1 << code_count_bits) - 1);
  u32 low = first, high = first + count;  // the first that ends behind start
  for (int i = 0; i < max_mapping_steps + 1 && low < high; ++i) {
    u32 middle = low + (high - low) / 2;
    struct code_mapping* mapping = bpf_map_lookup_elem(&code_mappings, &middle);
    if (!mapping) return 0;
    if (mapping->end <= start)
      low = middle + 1;
    else
      high = middle;
  }
  if (low >= first + count) return 0;
  struct code_mapping* mapping = bpf_map_lookup_elem(&code_mappings, &low);
  return mapping && mapping->start < end && mapping->rows != code_frame_pointer;
}

// The result of a search: the row, packed, or the reason (enum stop) in the upper half.
__attribute__((noinline)) u64 search(u64 list, u64 address) {
  u32 first = list & ((1 << code_first_bits) - 1);
  u32 count = list >> code_first_bits & ((1 << code_count_bits) - 1);
  u32 id = list >> (code_first_bits + code_count_bits);
  u32 low = first, high = first + count;
  u64 none = (u64)stop_no_mapping << 32;
  if (!count) return none;
  for (int i = 0; i < max_mapping_steps && low + 1 < high; ++i) {
    u32 middle = low + (high - low) / 2;
    struct code_mapping* mapping = bpf_map_lookup_elem(&code_mappings, &middle);
    if (!mapping) return none;
    if (mapping->start <= address)
      low = middle;
    else
      high = middle;
  }
  struct code_mapping* mapping = bpf_map_lookup_elem(&code_mappings, &low);
  if (!mapping || mapping->id != id || address < mapping->start || address >= mapping->end)
    return none;
  if (mapping->rows == code_frame_pointer) return row_fp << 8;
  if (mapping->rows == code_no_table) return (u64)stop_no_table << 32;
  u64 offset = address - mapping->base;
  u64 found = offset >> 32 ? row_none : find_row(mapping->first_row, mapping->rows, offset);
  return found ? found : none;
}

// The row for an address, through the cache.
ALWAYS_INLINE u64 rule_for(u64 list, u64 address) {
  u64 key = list >> (code_first_bits + code_count_bits) << 47 | (address & ((1ULL << 47) - 1));
  u64 hash = hash_of_rule(key);
  struct cached_rule* place = place_in_cache(hash);
  if (!place) return (u64)stop_no_mapping << 32;
  u64 known = remembered(place, key, hash);
  if (known) return known;
  u64 found = search(list, address);
  if (!(found >> 32)) remember(place, key, hash, found);
  return found;
}

enum { step_frame = 1, step_more = 2 };

// Takes the current frame, and goes on to its caller. Returns which of the two it could do;
// `at.stop` says why not. With `unknown` set it has done neither, and can be called again.
__attribute__((noinline)) int step(struct walk* walk) {
  if (!walk) return 0;
  u64 found = row_rsp << 8 | 1 << 16;  // only the return address is on the stack so far
  if (!walk->at_entry) {
    u64 address = row_address(&walk->at);
    found = rule_for(walk->list, address);
    if (found >> 32 && walk->tag) {
      u64 rule = learnt_rule(walk->tag, address);
      if (!(rule >> 32)) found = rule;
    }
  }
  walk->at_entry = 0;
  struct row row = unpack(found);
  walk->address = walk->at.ip | (is_exact(&walk->at, row) ? exact_address : 0);
  if (found >> 32) {
    walk->unknown = 1;
    walk->at.stop = walk->at.guessed ? stop_no_frame_pointer : found >> 32;
    return 0;
  }
  return unwind_step(&walk->at, row) ? step_frame | step_more : step_frame;
}
