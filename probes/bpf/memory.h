// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The kernel's own figures of an address space.
#pragma once

#include "capture.h"

// Members of the resident counters (enum of linux/mm_types_task.h, unchanged since 2016).
enum { file_pages, anon_pages, swap_entries, shmem_pages };

ALWAYS_INLINE int counters_are_batched_per_task(void) {
  return bpf_core_field_exists(((struct mm_struct___atomic*)0)->rss_stat.count);
}

// The value of a pointer that the verifier allows no arithmetic on.
ALWAYS_INLINE u64 as_number(const void* pointer) {
  const void* volatile slot = pointer;
  u64 number = 0;
  bpf_probe_read_kernel(&number, sizeof(number), (void*)&slot);
  return number;
}

enum { max_cpus = 1024 };

// By CPU; 0 until looked up.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, max_cpus);
  __type(key, u32);
  __type(value, u64);
} cpu_offsets SEC(".maps");

// Where a CPU's copy of per-CPU data lies relative to the per-CPU pointer. The kernel's own
// variable is only visible with CONFIG_KALLSYMS_ALL; a per-CPU map of ours, whose pointer and whose
// address on that CPU are both known, gives the same.
ALWAYS_INLINE u64 per_cpu_offset(u32 cpu) {
  u32 zero = 0;
  u64* known = bpf_map_lookup_elem(&cpu_offsets, &cpu);
  if (known && *known) return *known;
  void* mine = bpf_map_lookup_percpu_elem(&counters, &zero, cpu);
  if (!mine) return 0;
  if (!object_globals.per_cpu_base)
    object_globals.per_cpu_base =
        (u64)BPF_CORE_READ((struct bpf_array*)as_number(&counters), pptrs[0]);
  u64 offset = as_number(mine) - object_globals.per_cpu_base;
  if (known) *known = offset;
  return offset;
}

__attribute__((noinline)) s64 sum_of_parts(u64 parts, s64 sum) {
  for (u32 cpu = 0; cpu < max_cpus && cpu < config.cpus; ++cpu) {
    s32 part = 0;
    bpf_probe_read_kernel(&part, sizeof(part), (void*)(parts + per_cpu_offset(cpu)));
    sum += part;
  }
  return sum;
}

// Sum of a per-CPU counter. Another CPU may move its part into `count` while we add: then `count`
// differs before and after, and the sum is taken again.
__attribute__((noinline)) s64 percpu_sum(u64 counter_address) {
  struct percpu_counter* counter = (struct percpu_counter*)counter_address;
  s32* parts = BPF_CORE_READ(counter, counters);
  s64 sum = 0;
  for (int attempt = 0; attempt < 3; ++attempt) {
    s64 count = BPF_CORE_READ(counter, count);
    sum = sum_of_parts((u64)parts, count);
    if (BPF_CORE_READ(counter, count) == count) break;
  }
  return sum;
}

// Not inlined: fields that this kernel does not have must stay in code that is never reached.
static __attribute__((noinline)) s64 batched_resident(u64 mm_address, u32 member) {
  struct mm_struct___atomic* mm = (void*)mm_address;
  atomic_long_t counts[4] = {};
  BPF_CORE_READ_INTO(&counts, mm, rss_stat.count);
  return counts[member & 3].counter;
}

static __attribute__((noinline)) s64 percpu_resident(u64 mm_address, u32 member) {
  struct mm_struct___percpu* mm = (void*)mm_address;
  u64 first = (u64)__builtin_preserve_access_index(&mm->rss_stat[0]);
  u64 second = (u64)__builtin_preserve_access_index(&mm->rss_stat[1]);
  return percpu_sum(first + (second - first) * (member & 3));
}

// The same for the running task's own memory, much cheaper: its fields are read without helper
// calls. The parts of each CPU stay at the same address as long as the memory lives. Each member
// has its own function, because the verifier allows no computed offset into kernel structures.
#define OWN_RESIDENT(member)                                                                \
  static __attribute__((noinline))                                                          \
  s64 own_##member(struct task_struct* task, u64 mm_address, u64* parts) {                  \
    struct mm_struct___percpu* mm = (void*)task->mm;                                        \
    if (!*parts) *parts = as_number(mm->rss_stat[member].counters);                         \
    s64 count = mm->rss_stat[member].count;                                                 \
    s64 sum = sum_of_parts(*parts, count);                                                  \
    return mm->rss_stat[member].count == count ? sum : percpu_resident(mm_address, member); \
  }
OWN_RESIDENT(anon_pages)
OWN_RESIDENT(file_pages)

// Resident pages of one kind, exact except for what running threads still hold back on kernels
// before 6.2.
ALWAYS_INLINE s64 resident(struct mm_struct* mm, u32 member) {
  return counters_are_batched_per_task() ? batched_resident((u64)mm, member)
                                         : percpu_resident((u64)mm, member);
}

// The same for the running task's own memory, which is at `mm_address` and belongs to `space`.
ALWAYS_INLINE s64 own_resident(struct task_struct* task, u64 mm_address, struct space* space,
                               u32 member) {
  if (counters_are_batched_per_task()) return batched_resident(mm_address, member);
  if (member == anon_pages) return own_anon_pages(task, mm_address, &space->parts[anon_pages]);
  if (member == file_pages) return own_file_pages(task, mm_address, &space->parts[file_pages]);
  return percpu_resident(mm_address, member);
}

// What a task has collected and not yet moved to its process, before 6.2. Not inlined, because
// later kernels do not have the field.
static __attribute__((noinline)) s64 collected(struct task_struct* task, u32 member) {
  int counts[4] = {};
  struct task_struct___batched* old = (void*)task;
  BPF_CORE_READ_INTO(&counts, old, rss_stat.count);
  return counts[member & 3];
}
