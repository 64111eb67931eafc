// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Lists the processes of the reader's PID namespace, each with its number there and in the initial
// one. A task iterator visits only what its reader can see.
#include "pids.h"

#include "../bpf/kernel_structs.h"

char license_name[] SEC("license") = "Dual BSD/GPL";

// The context's fields are eight bytes each; only the first of `meta` is of use.
struct bpf_iter_meta {
  struct seq_file* seq;
};
struct bpf_iter__task {
  struct bpf_iter_meta* meta;
  struct task_struct* task;
};

SEC("iter/task")
int memflame_pids(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  if (!task || task->pid != task->tgid) return 0;
  struct task_struct* reader = bpf_get_current_task_btf();
  struct pid* reader_pid = BPF_CORE_READ(reader, thread_pid);
  struct pid_row row = {.initial = task->tgid, .level = BPF_CORE_READ(reader_pid, level)};
  u64 place = (u64)bpf_core_field_offset(struct pid, numbers) +
              row.level * (u64)bpf_core_type_size(struct upid);
  struct upid* own = (void*)((u64)reader_pid + place);
  row.pid_namespace = BPF_CORE_READ(own, ns, ns.inum);
  struct pid* pid = BPF_CORE_READ(task, thread_pid);
  own = (void*)((u64)pid + place);
  if (pid) row.own = BPF_CORE_READ(own, nr);
  bpf_seq_write(ctx->meta->seq, &row, sizeof(row));
  return 0;
}
