// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The probes that a program offers for its own blocks (usdt.h). own_samples.h includes this file.
// The cookie of a probe is the number of its site in usdt_sites.
//
// libbpf's usdt.bpf.h is not used: its user space makes one perf event and one link per site, each
// of which takes the kernel 0.1 s to remove, and reads the watched program's file without bounds.
#pragma once

#include "usdt_site.h"

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, max_usdt_sites);
  __type(key, u32);
  __type(value, struct usdt_site);
} usdt_sites SEC(".maps");

// Reads the registers as kernel memory: programs may not read the context at a computed offset.
ALWAYS_INLINE u64 usdt_read_register(struct pt_regs* ctx, u8 offset) {
  u64 value = 0;
  if (offset <= sizeof(*ctx) - sizeof(value))
    bpf_probe_read_kernel(&value, sizeof(value), (void*)ctx + offset);
  return value;
}

// Extends a value of `bytes` bytes to 64 bits, by its sign or by zeros.
ALWAYS_INLINE u64 usdt_resized(u64 value, const struct usdt_argument* argument) {
  u32 unused = (8 - (argument->bytes & 7)) * 8 & 63;
  value <<= unused;
  return argument->is_signed ? (u64)((s64)value >> unused) : value >> unused;
}

// False if memory could not be read.
ALWAYS_INLINE int usdt_value(struct pt_regs* ctx, const struct usdt_argument* argument,
                             u64* value) {
  u64 found = argument->value;
  if (argument->kind == usdt_register) {
    found = usdt_read_register(ctx, argument->base);
  } else if (argument->kind == usdt_memory) {
    u64 address = argument->value;
    if (argument->has_base) address += usdt_read_register(ctx, argument->base);
    if (argument->scale) address += usdt_read_register(ctx, argument->index) * argument->scale;
    u32 bytes = argument->bytes;
    if (bytes > sizeof(found)) bytes = sizeof(found);
    found = 0;
    if (bpf_probe_read_user(&found, bytes, (void*)address)) return 0;
  }
  *value = usdt_resized(found, argument);
  return 1;
}

ALWAYS_INLINE struct usdt_site* usdt_site_of(struct pt_regs* ctx) {
  u32 number = (u32)bpf_get_attach_cookie(ctx);
  return bpf_map_lookup_elem(&usdt_sites, &number);
}

SEC("uprobe")
int memflame_usdt_alloc(struct pt_regs* ctx) {
  u64 address = 0, size = 0, weight = 0;
  struct process* process = current_process();
  if (!process) return 0;
  struct usdt_site* site = usdt_site_of(ctx);
  if (!site) return 0;
  if (!usdt_value(ctx, &site->arguments[0], &address) ||
      !usdt_value(ctx, &site->arguments[1], &size) ||
      !usdt_value(ctx, &site->arguments[2], &weight)) {
    COUNT(own[alloc_out_pointer_unread], 1);
    return 0;
  }
  if (address) seen_allocation(ctx, process, address, size, weight);
  return 0;
}

SEC("uprobe")
int memflame_usdt_free(struct pt_regs* ctx) {
  u64 address = 0;
  struct process* process = current_process();
  if (!process) return 0;
  struct usdt_site* site = usdt_site_of(ctx);
  if (!site) return 0;
  if (!usdt_value(ctx, &site->arguments[0], &address)) {
    COUNT(own[alloc_out_pointer_unread], 1);
    return 0;
  }
  if (address) seen_free(ctx, process, address);
  return 0;
}
