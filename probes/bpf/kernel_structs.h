// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The parts of kernel structures that memflame reads. Field offsets are fixed up at load time from
// the running kernel's BTF (CO-RE), so only names and types matter here.
#pragma once

#include <linux/bpf.h>
#include <linux/types.h>
// Include linux/bpf.h first.
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "types.h"

// What a turn of bpf_loop() returns, 0 or 1. The compiler may know that of a function which the
// verifier has looked at by itself, and then leaves out what would show it.
ALWAYS_INLINE int turn_ends(int ends) {
  asm volatile("" : "+r"(ends));
  return ends & 1;
}

#define GLUE_(a, b) a##b

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
  int counter;
} atomic_t;

struct pt_regs {
  unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs,
      flags, sp, ss;
};

struct bpf_array {
  void* pptrs[0];  // per-CPU arrays: one per-CPU pointer per element
};

struct xol_area {
  unsigned long vaddr;  // where the return probes' trampoline is in the process
};

struct uprobes_state {
  struct xol_area* xol_area;
};

struct percpu_counter {
  __s64 count;
  __s32* counters;
};

typedef struct {
  void* vdso;
} mm_context_t;

struct inode {
  unsigned long i_ino;
};

struct file {
  struct inode* f_inode;
};

struct vm_area_struct {
  unsigned long vm_start, vm_end, vm_flags;
  unsigned long vm_pgoff;
  struct file* vm_file;
};

struct mm_struct {
  atomic_t mm_users;
  mm_context_t context;
  unsigned long total_vm, stack_vm;  // pages
  unsigned long start_brk, brk, start_stack;
  struct task_struct* owner;  // with CONFIG_MEMCG
  struct uprobes_state uprobes_state;
};

// Since 6.2 (f1a7941243c1) the resident counters are per-CPU counters ...
struct mm_struct___percpu {
  struct percpu_counter rss_stat[4];
};

// ... before, they are plain atomics and each task collects up to 64 faults in counts of its own.
typedef struct {
  __s64 counter;
} atomic_long_t;
struct mm_rss_stat {
  atomic_long_t count[4];
};
struct mm_struct___atomic {
  struct mm_rss_stat rss_stat;
};
struct task_rss_stat {
  int events;
  int count[4];
};
struct task_struct___batched {
  struct task_rss_stat rss_stat;
};

struct signal_struct {
  atomic_t live;             // threads that have not begun to exit
  int group_exit_code;       // as for wait()
  struct mm_struct* oom_mm;  // set when the out-of-memory killer has chosen the process
};

struct return_instance {
  unsigned long stack;           // the stack slot of the return address
  unsigned long orig_ret_vaddr;  // the true return address
  struct return_instance* next;
};

struct uprobe_task {
  unsigned long vaddr;  // of the breakpoint whose instruction runs in the xol_area
  struct return_instance* return_instances;
};

struct kmem_cache {
  unsigned int size, object_size;  // bytes an object takes, and bytes of it for its user
  const char* name;
};

struct page {
  unsigned long flags;
};

struct ns_common {
  unsigned int inum;
};

struct pid_namespace {
  struct ns_common ns;
};

// The number of a process in one PID namespace.
struct upid {
  int nr;
  struct pid_namespace* ns;
};

struct pid {
  unsigned int level;      // of the innermost namespace; 0 = the initial one
  struct upid numbers[1];  // by level
};

struct kernfs_node {
  __u64 id;  // on 64-bit machines the inode number of its folder
};

struct cgroup;
struct cgroup_subsys_state {
  struct cgroup* cgroup;
  struct cgroup_subsys_state* parent;
};

struct cgroup {
  struct cgroup_subsys_state self;
  struct kernfs_node* kn;
};

struct css_set {
  struct cgroup* dfl_cgrp;  // in the hierarchy of cgroup v2
};

struct thread_struct {
  unsigned long fsbase;
};

struct task_struct {
  struct thread_struct thread;
  int pid;
  int tgid;
  unsigned int flags;
  int exit_code;
  struct pid* thread_pid;
  struct css_set* cgroups;
  struct task_struct* group_leader;
  struct mm_struct* mm;
  struct signal_struct* signal;
  struct uprobe_task* utask;
  unsigned long min_flt, maj_flt;
  int pagefault_disabled;
  char comm[16];
};

#pragma clang attribute pop

// Contexts of the program types. These are UAPI, not relocated.
struct syscall_enter_args {
  __u64 common;
  __s32 nr;  // followed by padding that is not cleared
};
struct syscall_exit_args {
  __u64 common;
  __s32 nr;  // followed by padding that is not cleared
  __s64 ret;
};
