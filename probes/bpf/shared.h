// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What BPF programs and user space share: record layouts, map values, limits. Plain C.
#pragma once

#ifdef __cplusplus
#include <cstdint>
namespace memflame::bpf {
using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using s64 = int64_t;
using s32 = int32_t;
#else
#include <linux/types.h>
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s64 s64;
typedef __s32 s32;
#endif

enum {
  max_frames = 1023,  // user frames of one stack
  max_kernel_frames = 64,
  columns = 8,  // values per stack in `sums`: four figures, then the variance of each
  first_variance = 4,
  comm_length = 16,
  max_copy_bytes = 65536,   // of a stack that is copied
  max_copied_returns = 16,  // pending return probes noted with a copy
  rule_cache_bits = 15,     // entries of `rules`, as a power of two
  max_mapping_steps = 16,   // bisection of a list of mappings: at most 65535
  window_bytes = 1024,      // of a stack, read at once
  max_row_steps = 32,       // bisection of a table
  learnt_ways = 8,          // mappings that are learnt of one process, a power of two
  learnt_sets = 2048,       // a power of two, too
  most_learnt = 8,          // during one walk
  max_files = 16384,        // that such mappings may be of
  max_file_segments = 4,    // with code
  keep_steps = 256,         // of the table of probabilities
  keep_bits = 40,           // of a probability
  variance_shift = 10,      // variances are in squares of 2^this bytes
};

// Set in the addresses of a stack that are not return addresses: the leaf's, and those that a
// signal interrupted.
#define exact_address (1ULL << 63)

// How stacks are captured.
enum stacks { stacks_dwarf, stacks_fp, stacks_copy };

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

// Filled by user space before load; the only read-only data of an object.
struct config {
  u32 self;  // memflame's own tgid, never traced; like all in the maps, in the initial PID
             // namespace
  u32 whole_system;
  u32 follow_children;
  u32 kernel_stacks;
  u32 kernel_skip;    // innermost kernel frames that belong to the tracing
  u32 wake_bytes;     // wake user space when the ring holds more than this
  u32 cpus;           // possible CPUs
  u32 pages;          // fault: resident pages instead of faults
  u32 by_comm;        // processes that take this name are targets
  u32 by_cgroup;      // processes in one of `cgroups`, or below, are targets
  u32 pid_level;      // level of the PID namespace that memflame runs in; 0 = the initial one
  u32 pid_namespace;  // its inode
  u32 stacks;         // enum stacks
  u32 max_depth;      // user frames, at most max_frames
  u32 copy_bytes;     // of a copied stack, at most max_copy_bytes
  u32 check_every;    // also copy one walked stack in N; 0 = none
  u32 scratches;      // entries of the maps of these names
  u32 copies;
  u32 code_slots;
  u32 new_space_copies;  // see code_slot.copies
  u32 column_bytes;      // bytes in one unit of the first column; 0 when it counts calls
  char comm[comm_length];
  u32 every;                 // fault: a stack for one event in N; 0 or 1 = for each
  u32 task_storage;          // per-thread state is kept by the kernel with the task
  u32 check;                 // alloc: look for blocks that are freed twice or by the wrong function
  u32 usable;                // alloc: sizes as the allocator gives them, where that is known
  u32 trace;                 // alloc: a record for each call
  u32 governed;              // alloc: measure the programs' own cost
  u32 ages;                  // alloc: keep when a block was allocated, too
  u64 min_size, max_size;    // alloc: blocks of other sizes are left out
  u32 any_task;              // kernel: count allocations by any task
  u32 requested;             // kernel: sizes as asked for, not as given
  u32 no_movable;            // kernel: leave out pages the kernel may move: user memory, page cache
  u32 count_calls;           // alloc: of each declared function
  u32 own_links;             // alloc: each process has links of its own
  u32 learns;                // programs look up mappings by themselves
  u64 keep[keep_steps + 1];  // see probes/alloc/bpf/sampling.h
};

// The writable globals of an object, mapped by user space.
struct globals {
  u32 armed;  // events count only while this is set
  u32 next_space;
  u32 stack_table_is_full;
  u32 pad;
  u64 per_cpu_base;
  u64 inode;  // the answer of memflame_inode
  // alloc: which blocks are kept; changes during the run.
  u32 sampling;  // enum sampling
  u32 pad2;
  u64 inverse;  // 2^32 / mean bytes between samples
  u64 certain;  // blocks of this size or more are always kept
  u64 one_in;   // for sampling_every: probability in 2^-keep_bits
};
enum sampling { sampling_none, sampling_bytes, sampling_every };

// processes: tgid -> process. In records for user space, a tgid or tid belongs to memflame's own
// PID namespace (pids.h); here it belongs to the initial one.
struct process {
  u32 space;
  u32 waits_for_exec;  // our own child, before it has become the command
  u32 borrows;         // a vfork child: it runs in its parent's space until exec or exit
  u32 code;            // its entry in `code_slots`; 0 = none
  u32 from_exec;       // watched since its first instruction
};

// code_slots: the code mapped in a space, for unwinding. Mapped by user space, which publishes a
// new list and then changes `list`; a program reads `list` once per walk.
struct code_slot {
  u32 space;     // 0 = free
  s32 copies;    // how many stacks that met unknown code may still be copied; may fall below 0
  u64 list;      // entries in code_mappings: first | count << 24 | id << 40; 0 = none yet
  u32 unmaps;    // how often code was unmapped
  u32 voided;    // how often what was learnt of the space was invalidated
  u32 learning;  // programs that are learning of it right now
  u32 pad;
};
enum { code_first_bits = 24, code_count_bits = 16, code_id_bits = 16 };

// code_mappings: lists of executable mappings, each sorted by address.
struct code_mapping {
  u64 start, end;
  u64 base;       // address of the table's row with pc 0
  u32 first_row;  // in `rows`
  u32 rows;       // enum code_rows, or how many
  u32 id;         // of the list that this belongs to
  u32 pad;
};
enum code_rows {
  code_frame_pointer = 0,      // no table: code made at run time, or all code with --stacks fp
  code_no_table = 0xffffffff,  // there is a table, but it is not loaded
};

// files: address of an inode in the kernel -> its rows. User space keeps the file open, so the
// address cannot become another file's.
struct file_segment {
  u64 from, to;  // the file offsets of its pages
  u64 delta;     // base of a mapping = its start - its offset in the file + this
};
struct known_file {
  u32 first_row, rows;
  struct file_segment segments[max_file_segments];  // unused ones begin at UINT64_MAX
};
enum { vdso_inode = 1 };  // stands for the inode of the vdso, which is not a file

// learnt: mappings that programs looked up by themselves.
struct learnt_code {
  u64 tag;  // space id << 32 | code_slot.voided at that time; 0 = none
  u64 start, end;
  u64 base;             // as in code_mapping; with code_no_table: start - offset in the file
  u64 inode;            // 0 = no file
  u32 first_row, rows;  // as in code_mapping
  u64 check;
};

// rules: a cache from (list id, address) to the row that holds there. The two words are written one
// after the other, so the second also says which key it belongs to.
struct cached_rule {
  u64 key;   // id << 47 | address; for learnt mappings 1 << 63 | first row << 32 | offset
  u64 rule;  // upper half: check of the key; lower half: the row without its pc
};

// spaces: space id -> space. One incarnation of an address space (see core/recording.h).
struct space {
  u64 mm;         // kernel address, identity only; 0 until seen
  u64 brk;        // last known program break; 0 until seen
  s64 rss[4];     // last known resident counters, in pages, by kernel member
  u64 parts[4];   // the offset of each CPU's part in its own data; 0 until looked up
  s64 totals[2];  // fault: of all events, if only some are sampled
};

// sums: stack hash -> values; notes: note -> values
struct sum {
  s64 value[columns];
};

enum record_type {
  record_stack = 1,
  record_space,
  record_event,
  record_copy,
  record_move,
  record_amount,
  record_call,
  record_candidate
};

// First field of every ring record.
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

// A stack to be walked in user space: registers and memory. `bytes` bytes from rsp on follow it.
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

// A free that looks wrong, for --check. `marked_by` is the number of a function, plus one.
enum candidate { candidate_double_free = 1, candidate_never_allocated, candidate_mismatched };
struct candidate_record {
  u32 type;
  u32 space;
  u32 kind;                    // enum candidate
  u32 allocated_by, freed_by;  // functions; the first only if there is a stack for it
  u32 families;  // mismatched: family of the block << 8 | of the free (enum call_family)
  u64 address, size;
  // Never allocated: when its space began; mismatched: when it was allocated; double free: when it
  // was first freed.
  u64 since;
  u32 marked_by;  // mismatched: the function whose mark set the family of the free; 0 = none
  u32 pad;
  u64 freeing;     // stack of this free
  u64 allocating;  // of the allocation; 0 when unknown
  u64 freed;       // double free: of the first free
};

// space_unmapped: part of its code is gone, which invalidates its list. With config.own_links only:
// space_borrow and space_return mark the begin and end of a vfork child.
enum space_reason {
  space_fork = 1,
  space_exec,
  space_found,
  space_ending,
  space_end,
  space_unmapped,
  space_borrow,
  space_return
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

// counters: per-CPU array entries of this shape. Names follow core/losses.h.
struct counters {
  u64 events;
  u64 amount;  // what the status line shows: bytes or pages seen
  u64 live_full_events, live_full_bytes;
  u64 stack_full_events, stack_full_bytes;
  u64 ring_full_events, ring_full_bytes;
  u64 event_drops, event_drop_bytes;
  u64 process_full;
  u64 no_state_events, no_state_bytes;
  u64 out_pointer_unread;
  u64 abandoned;
  u64 freed, freed_bytes;               // blocks that left the live table
  u64 free_misses;                      // frees of blocks from before the start, or lost
  u64 inherited_frees;                  // frees of blocks from before a fork
  u64 unseen_frees, unseen_free_bytes;  // addresses allocated again without a free in between
  u64 pools_cut;             // alloc: pools with blocks that stay live although the pool was freed
  u64 foreign_pages;         // resident pages changed by another task
  u64 entries, returns;      // alloc, governed: probe hits …
  u64 stepped;               // … of the entries, on instructions that the kernel single-steps
  u64 timed_runs, timed_ns;  // … one run in N, and how long it took
  u64 passed_over;           // allocations not kept, by sampling or by --min-size and --max-size
  u64 stacks, frames;        // stacks taken, and user frames in them
  u64 copied;                // of these, how many were copied for user space
  u64 stops[stop_count];     // walks in BPF by enum stop
};

// alloc: a call from the allocator's own code: own_calls.
struct own_call {
  u32 function;  // index in the run's list
  s32 distance;  // from the probe to where the call returns, bytes
};

// A block that is live: blocks: block_key -> block
struct block_key {
  u64 address;
  u32 space;
  u32 pad;
};
struct block {
  u64 hash;      // of the allocating stack
  u64 size;      // bytes
  u64 weight;    // bytes that it stands for: its size, unless blocks are sampled
  u64 time_ns;   // CLOCK_MONOTONIC; 0 unless config.ages
  u32 count;     // blocks that it stands for
  u32 function;  // the function that allocated it: index in the run's list
  u32 family;    // enum call_family
  u32 seed;      // random, for rounding its share of a sum
  u64 next;      // address of the next block of its pool; 0 = none
};

// kernel: the kinds of memory, which are `space` in a block's key; its address is then a pointer,
// or that of the first page's struct page.
enum kernel_kind {
  kernel_slab = 1,
  kernel_pages,
  kernel_percpu,
  kernel_vmalloc,
};

// kernel: what a stack ends in: the upper bits give the kind, the lower ones its number.
enum kernel_leaf {
  leaf_cache = 1 << 13,    // slab cache: number in cache_names; 0 = not known
  leaf_kmalloc = 2 << 13,  // eighths of the size class
  leaf_large = 3 << 13,    // kmalloc() of whole pages: order
  leaf_pages = 4 << 13,    // order
  leaf_movable = 5 << 13,  // order
  leaf_percpu = 6 << 13,
  leaf_vmalloc = 7 << 13,
  leaf_which = (1 << 13) - 1,
};
enum { max_caches = 4096, cache_name_length = 48 };

#ifdef __cplusplus
}  // namespace memflame::bpf
#endif
