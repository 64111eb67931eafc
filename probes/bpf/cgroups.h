// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Processes by their cgroup, in the hierarchy of cgroup v2.
#pragma once

#include "maps.h"

// The watched cgroups, as a set: id -> anything. All cgroups below them are watched too.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1);  // user space sets it before load
  __type(key, u64);
  __type(value, u32);
} cgroups SEC(".maps");

enum { max_cgroup_depth = 64 };

ALWAYS_INLINE u64 cgroup_of(struct task_struct* task) {
  return config.by_cgroup ? BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id) : 0;
}

static __attribute__((noinline)) int is_in_wanted_cgroup(struct task_struct* task) {
  if (!config.by_cgroup) return 0;
  struct cgroup* cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp);
  for (int i = 0; i < max_cgroup_depth && cgroup; ++i) {
    u64 id = BPF_CORE_READ(cgroup, kn, id);
    if (bpf_map_lookup_elem(&cgroups, &id)) return 1;
    cgroup = BPF_CORE_READ(cgroup, self.parent, cgroup);
  }
  return 0;
}
