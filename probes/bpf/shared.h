// What BPF programs and user space both know: record layouts, map values, limits. Plain C.
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
  max_frames = 255,  // user frames of one stack
  max_kernel_frames = 64,
  columns = 4,  // values per stack in `sums`
  comm_length = 16,
};

// What stands in for a stack where there is none. The key of a sum is a stack hash, with the top
// bit set, or a note: space id << 8 | enum note.
enum note {
  note_none = 0,
  note_ring_full,  // the announcement of the stack did not fit the ring buffer
  note_stack_table_full,
  note_live_table_full,  // allocated, but its free could not be followed
  note_no_state,         // no memory for the per-thread state, so no stack was taken
  note_exec,             // pages the kernel itself touched while it started a program
  note_other_task,       // done to this process by another task: reclaim, ptrace, …
  note_count,
};

// Filled by user space before load; the only read-only data of an object.
struct config {
  u32 self;  // memflame's own tgid, never traced
  u32 whole_system;
  u32 follow_children;
  u32 kernel_stacks;
  u32 kernel_skip;  // innermost kernel frames that are the tracing's own
  u32 wake_bytes;   // wake user space when the ring holds more than this
  u32 cpus;         // possible CPUs
  u32 pages;        // fault: resident pages instead of faults
  u32 by_comm;      // processes that get this name are targets
  char comm[comm_length];
};

// The writable globals of an object, mapped by user space.
struct globals {
  u32 armed;  // events count only while this is set
  u32 next_space;
  u32 stack_table_is_full;
  u32 pad;
  u64 per_cpu_base;
};

// processes: tgid -> process
struct process {
  u32 space;
  u32 waits_for_exec;  // our own child, before it has become the command
  u32 borrows;         // a vfork child: it runs in its parent's space until exec or exit
};

// spaces: space id -> space. One incarnation of an address space (see core/recording.h).
struct space {
  u64 mm;      // kernel address, identity only; 0 until seen
  u64 brk;     // last known program break; 0 until seen
  s64 rss[4];  // last known resident counters, in pages, by kernel member
};

// sums: stack hash -> values; notes: note -> values
struct sum {
  s64 value[columns];
};

enum record_type { record_stack = 1, record_space, record_event };

// First field of every ring record.
struct stack_record {
  u32 type;
  u32 space;
  u64 hash;
  u64 time;
  u32 tgid;
  u16 frames;  // user frames in pcs, after the kernel frames
  u16 kernel_frames;
  u16 stop;    // enum stop
  u16 entry;   // pcs[0] is a function entry, so `caller` is its return address
  u64 caller;  // return address at the top of the stack, 0 when that is no call site
  char comm[comm_length];
  u64 pcs[max_kernel_frames + max_frames];
};

enum stop { stop_end, stop_no_frame_pointer, stop_too_deep, stop_unreadable };

enum space_reason { space_fork = 1, space_exec, space_found, space_ending, space_end };

struct space_record {
  u32 type;
  u32 space;
  u64 time;
  u32 tgid;
  u32 parent_space;  // for fork
  u32 reason;        // enum space_reason
  u32 has_memory;    // the fields below were read
  u64 vm_pages, stack_pages;
  u64 start_brk, brk;
  s64 rss[4];
  char comm[comm_length];
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

// counters: one per-CPU array entry of this shape. Names follow core/losses.h.
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
  u64 frees, freed_bytes;
  u64 free_misses;    // blocks from before the start, or lost
  u64 unseen_frees;   // addresses allocated again without a free in between
  u64 foreign_pages;  // resident pages changed by another task
};

// alloc: the kinds of functions, passed as attach cookie.
enum alloc_function {
  fn_malloc = 1,      // (size)
  fn_calloc,          // (count, size)
  fn_realloc,         // (old, size)
  fn_reallocarray,    // (old, count, size)
  fn_aligned,         // (alignment, size): memalign, aligned_alloc
  fn_posix_memalign,  // (out, alignment, size)
  fn_valloc,          // (size): valloc, pvalloc
  fn_free,            // (pointer)
};

struct block_key {
  u64 address;
  u32 space;
  u32 pad;
};
struct block {
  u64 size;
  u64 hash;
};

#ifdef __cplusplus
}  // namespace memflame::bpf
#endif
