// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Sends one successful system call, with its stack, to user space.
#pragma once

#include "account.h"
#include "capture.h"

ALWAYS_INLINE int send_event(void* ctx, struct process* process, enum call call, u64 args[6],
                             u64 result, u64 bytes) {
  struct task_struct* task = bpf_get_current_task_btf();
  u64 key = capture(ctx, process, 0);
  count_lost_stack(key, bytes);
  struct event_record event = {.type = OF_PROBE(record_event),
                               .space = process->space,
                               .hash = key,
                               .time = bpf_ktime_get_ns(),
                               .call = call,
                               .tgid = shown_tgid(task),
                               .result = result};
  for (int i = 0; i < 6; ++i) event.args[i] = args[i];
  if (bpf_ringbuf_output(&ring, &event, sizeof(event), wake_if_filling())) {
    COUNT(event_drops, 1);
    COUNT(event_drop_bytes, bytes);
  }
  return 0;
}
