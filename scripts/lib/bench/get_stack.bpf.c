// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the kernel's own walk by frame pointer costs, alone.
// The second needs the first.
// clang-format off
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
// clang-format on

enum { most_frames = 127 };  // kernel.perf_event_max_stack

struct buffer {
  __u64 pcs[most_frames];
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct buffer);
} buffers SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_STACK_TRACE);
  __uint(max_entries, 1024);
  __uint(key_size, sizeof(__u32));
  __uint(value_size, sizeof(struct buffer));
} stacks SEC(".maps");

__u64 frames;  // of the last stack

SEC("uprobe")
int empty(void* ctx) { return 0; }

SEC("uprobe")
int get_stack(void* ctx) {
  __u32 key = 0;
  struct buffer* buffer = bpf_map_lookup_elem(&buffers, &key);
  if (!buffer) return 0;
  long bytes = bpf_get_stack(ctx, buffer->pcs, sizeof(buffer->pcs), BPF_F_USER_STACK);
  if (bytes > 0) frames = bytes / 8;
  return 0;
}

SEC("uprobe")
int get_stackid(void* ctx) {
  frames = bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK) >= 0;
  return 0;
}

char licence[] SEC("license") = "GPL";
