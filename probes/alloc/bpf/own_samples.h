// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Blocks of programs that sample their own blocks and report them by USDT probes (usdt.h).
#pragma once

#include "calls.h"

// The program's own allocator has sampled a block that stands for `weight` bytes.
ALWAYS_INLINE void seen_allocation(struct pt_regs* ctx, struct process* process, u64 address,
                                   u64 size, u64 weight) {
  if (weight < size) weight = size;
  u64 key = capture(ctx, process, 0);
  struct block block = {.hash = key,
                        .size = size,
                        .weight = weight,
                        .count = size ? (weight + size / 2) / size : 1,
                        .time_ns = own.ages ? bpf_ktime_get_ns() : 0,
                        .function = function_of_program,
                        .seed = bpf_get_prandom_u32(),
                        .number = new_number()};
  COUNT(events, 1);
  COUNT(amount, size);
  count_lost_stack(key, weight);
  enter(key, &block, block_is_new);
  struct block_key at = {.address = address, .space = process->space};
  if (put(&at, &block) && block.number) send_begin(&block, address, 0);
  say_call(process, function_of_program, 0, address, size, 0);
}

ALWAYS_INLINE void seen_free(struct pt_regs* ctx, struct process* process, u64 address) {
  struct block_key key = {.address = address, .space = process->space};
  struct block block = {};
  if (taken(&key, &block))
    on_freed(&block, process->space, own.free_stacks ? capture(ctx, process, 0) : 0);
  else
    COUNT(free_misses, 1);
  say_call(process, function_of_program, 1, address, block.size, 0);
}

#include "usdt.bpf.h"
