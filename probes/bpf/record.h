// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What programs send through the ring, and the keys and sums of stacks.
#pragma once

#include "config.h"

#ifdef __cplusplus
namespace memflame::bpf {
#endif

// Set in the addresses of a stack that are not return addresses: the leaf's, and those that a
// signal interrupted.
#define exact_address (1ULL << 63)

// Stands in for a stack if there is none. The key of a sum is a stack hash with the top bit set, or
// a note: space id << 8 | enum note.
enum note {
  note_none = 0,
  note_ring_full,  // the announcement of the stack did not fit the ring buffer
  note_stack_table_full,
  note_live_table_full,  // allocated, but its free could not be followed
  note_no_state,         // no buffer or no per-thread state, so no stack was taken
  note_exec,             // pages the kernel itself touched while it started a program
  note_other_task,       // done to this process by another task: reclaim, ptrace, …
  note_count,
};

// sums: stack hash -> values; notes: note -> values
struct sum {
  s64 value[columns];
};

// The first field of every record in the ring. In records that belong to one probe of the run
// (event, amount, call, own), config.sender is added to it.
enum record_type {
  record_stack = 1,
  record_space,
  record_event,
  record_copy,
  record_move,
  record_amount,
  record_call,
  record_script,  // struct script_code_record
  record_chain,   // the head of struct script_chain
  record_own,     // and above: what only one probe sends
  record_types = 1 << 16,
};

// Announces a stack: sent once, before its hash is used.
struct stack_record {
  u32 type;
  u32 space;
  u64 hash;
  u64 time;
  u32 tgid;
  u16 frames;  // user frames in pcs, after the kernel frames
  u16 kernel_frames;
  u16 stop;  // enum stop
  u16 leaf;  // kernel: what was allocated, see enum kernel_leaf
  char comm[comm_length];
  u64 pcs[max_kernel_frames + max_frames];
};

// Why a walk ended, in the order of StopReason (core/recording.h).
enum stop {
  stop_end,  // at the outermost frame
#define MEMFLAME_STOP(name, label, remedy) stop_##name,
#include "../../core/stops.def"
#undef MEMFLAME_STOP
  stop_count,
};

// A stack to be walked in user space: registers and memory. `stack` holds `bytes` bytes from rsp
// on.
struct copy_record {
  u32 type;
  u32 space;
  u64 key;  // stands for the stack, as a hash does
  u64 time;
  u32 tgid;
  u32 bytes;
  u32 missing;   // bit n: the page n pages above the one of rsp is not in memory
  u32 returned;  // rip is a return address: the function behind it has just ended
  u16 kernel_frames;
  u16 returns;
  u16 entry;   // rip is a function entry
  u16 checks;  // a copy of the stack with the hash `key`, which was already walked
  char comm[comm_length];
  u64 regs[17];  // in DWARF order: rax rdx rcx rbx rsi rdi rbp rsp r8 … r15 rip
  struct {
    u64 slot, address;
  } pending[max_copied_returns];  // return addresses that return probes have replaced
  u64 unknown;  // an address in code without a known row, the reason for the copy; 0 = none
  u64 kernel[max_kernel_frames];
  u8 stack[max_copy_bytes];
};
enum { dwarf_rbx = 3, dwarf_rbp = 6, dwarf_rsp = 7, dwarf_rip = 16 };  // psABI figure 3.36

// Adds to one column of a copied stack: such stacks have no sums in the kernel.
struct amount_record {
  u32 type;
  u32 column;
  u64 key;
  s64 value;
};

// One call of an allocator, for --trace.
struct call_record {
  u32 type;
  u32 space;
  u64 time;
  u32 tgid, tid;
  u32 function;  // index in the run's list
  u32 frees;     // 1: a block is freed; its size is known if its allocation was seen
  u64 address;   // 0: the call failed
  u64 size;
  u64 old;  // realloc: the block that is freed; 0 = none
  char comm[comm_length];
};

// space_unmapped: part of its code is gone, which invalidates its list. With config.tell_borrows
// only: space_borrow and space_return mark the begin and end of a vfork child. With
// config.until_exec: space_left tells of the program that is executed, and not watched.
enum space_reason {
  space_fork = 1,
  space_exec,
  space_found,
  space_ending,
  space_end,
  space_unmapped,
  space_borrow,
  space_return,
  space_left
};

// Which thread of a process called exec.
enum exec_by { by_nobody, by_first_thread, by_another };

struct space_record {
  u32 type;
  u32 space;
  u64 time;
  u32 tgid;
  u32 parent_space;   // for fork
  u32 reason;         // enum space_reason
  u32 has_memory;     // the memory fields below were read
  u32 exit_status;    // space_end: as wait() has it; 0 after exec
  u32 out_of_memory;  // space_end: the OOM killer killed it
  u32 by;             // exec, and the end that it causes: enum exec_by; else 0
  u32 pad;
  u64 vm_pages, stack_pages;
  u64 start_brk, brk;
  s64 rss[4];
  u64 cgroup;  // id; 0 unless config.by_cgroup
  char comm[comm_length];
};

// mremap() to another place, which no kernel log reports: the memory at [from, from + size) is at
// `to` now.
struct move_record {
  u32 type;
  u32 space;
  u64 time;
  u64 from, to, size;
};

// One call of brk, mmap, munmap, mremap or mprotect that succeeded.
enum call { call_brk = 1, call_mmap, call_munmap, call_mremap, call_mprotect };
struct event_record {
  u32 type;
  u32 space;
  u64 hash;
  u64 time;
  u32 call;
  u32 tgid;
  u64 args[6];  // as given to the system call; for brk: old and new break
  u64 result;
};

#ifdef __cplusplus
}  // namespace memflame::bpf
#endif
