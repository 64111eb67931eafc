// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What a run is set to, and its limits.
#pragma once

#include "types.h"

#ifdef __cplusplus
namespace memflame::bpf {
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
  learnt_ways = 8,          // learnt mappings in one entry of `learnt`, a power of two
  learnt_sets = 2048,       // entries of `learnt`, a power of two
  most_learnt = 8,          // mappings learnt during one walk
  max_files = 16384,        // files that learnt mappings may belong to
  max_file_segments = 4,    // segments with code of such a file
  variance_shift = 10,      // variances are in squares of 2^this bytes
  freed_scripts_bits = 12,  // entries of `freed_scripts`, as a power of two
  max_interpreter_files = 256,
  max_unmapped_ranges = 16,  // of a space, where code was unmapped
};

// How stacks are captured.
enum stacks { stacks_dwarf, stacks_fp, stacks_copy };

// Settings for the programs of every probe, filled by user space before load. The settings of one
// probe are in config.h of its folder.
struct config {
  // memflame's own tgid, never traced; in the initial PID namespace, like all tgids in maps
  u32 self;
  u32 whole_system;
  u32 follow_children;
  u32 kernel_stacks;
  u32 kernel_skip;    // innermost kernel frames that belong to the tracing
  u32 wake_bytes;     // wake user space when the ring holds more than this
  u32 cpus;           // possible CPUs
  u32 by_comm;        // processes that take this name are targets
  u32 until_exec;     // a process is watched until it executes another program
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
  u32 task_storage;        // per-thread state is kept by the kernel with the task
  u64 min_size, max_size;  // blocks of other sizes are left out
  u32 tell_borrows;        // user space hears when a vfork child begins and ends to borrow
  u32 learns;              // programs look up mappings by themselves
  u32 asks;                // the kernel can tell them what is mapped at an address
  u32 scripts;             // functions of interpreted languages are put into stacks
  u32 script_buffers;      // entries of the map of this name
  u32 sender;              // the object's number in its run, in the upper bits of a record's type
};

// The writable globals of a run, mapped by user space. All objects of a run share them.
struct globals {
  u32 armed;  // events count only while this is set
  u32 next_space;
  u64 inode;  // the answer of memflame_inode
};

// Those of one object.
struct object_globals {
  u64 per_cpu_base;
  u32 stack_table_is_full;
  u32 pad;
};

#ifdef __cplusplus
}  // namespace memflame::bpf
#endif
