// Sends one successful system call, with its stack, to user space.
#pragma once

#include "capture.h"

ALWAYS_INLINE int send_event(void* ctx, u32 space, enum call call, u64 args[6], u64 result,
                             u64 bytes) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct thread* thread = this_thread();
  struct user_regs regs = regs_at_kernel_entry(task);
  u64 key = note_key(space, note_no_state);
  if (thread) {
    key = capture(ctx, task, thread, space, &regs);
  } else {
    COUNT(no_state_events, 1);
    COUNT(no_state_bytes, bytes);
  }
  count_lost_stack(key, bytes);
  struct event_record event = {.type = record_event,
                               .space = space,
                               .hash = key,
                               .time = bpf_ktime_get_ns(),
                               .call = call,
                               .tgid = task->tgid,
                               .result = result};
  for (int i = 0; i < 6; ++i) event.args[i] = args[i];
  u64 flags = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > config.wake_bytes ? BPF_RB_FORCE_WAKEUP
                                                                              : BPF_RB_NO_WAKEUP;
  if (bpf_ringbuf_output(&ring, &event, sizeof(event), flags)) {
    COUNT(event_drops, 1);
    COUNT(event_drop_bytes, bytes);
  }
  return 0;
}
