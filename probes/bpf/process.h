// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Processes, their address spaces and the code in these, as the maps hold them.
#pragma once

#include "config.h"

#ifdef __cplusplus
namespace memflame::bpf {
#endif

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
  u32 space;         // 0 = free
  s32 copies;        // how many stacks that met unknown code may still be copied; may fall below 0
  u64 list;          // entries in code_mappings: first | count << 24 | id << 40; 0 = none yet
  u32 unmaps;        // how often code was unmapped
  u32 voided;        // how often what was learnt of the space was invalidated
  u32 learning;      // programs that are learning of it right now
  u32 has_unmapped;  // some of its code was unmapped: turns.h
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
  u64 parts[4];   // per-CPU pointers of these counters; 0 until looked up
  s64 totals[2];  // fault: of all events, if only some are sampled
};

#ifdef __cplusplus
}  // namespace memflame::bpf
#endif
