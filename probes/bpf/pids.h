// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Pids as memflame sees them. Programs look processes up by their number in the initial PID
// namespace, which costs nothing; what they tell user space is the number in memflame's own.
#pragma once

#include "maps.h"

// The number in memflame's namespace; 0 when the process cannot be seen from there.
static __attribute__((noinline)) u32 number_in_own_namespace(struct pid* pid) {
  if (config.pid_level > BPF_CORE_READ(pid, level)) return 0;
  struct upid* own = (void*)((u64)__builtin_preserve_access_index(&pid->numbers[0]) +
                             config.pid_level * (u64)bpf_core_type_size(struct upid));
  return BPF_CORE_READ(own, ns, ns.inum) == config.pid_namespace ? BPF_CORE_READ(own, nr) : 0;
}

ALWAYS_INLINE u32 shown_tgid(struct task_struct* task) {
  if (!config.pid_level) return BPF_CORE_READ(task, tgid);
  return number_in_own_namespace(BPF_CORE_READ(task, group_leader, thread_pid));
}

ALWAYS_INLINE u32 shown_tid(struct task_struct* task) {
  if (!config.pid_level) return BPF_CORE_READ(task, pid);
  return number_in_own_namespace(BPF_CORE_READ(task, thread_pid));
}

ALWAYS_INLINE int is_visible(struct task_struct* task) {
  return !config.pid_level || shown_tgid(task);
}
