// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Tells user space of each block that comes or goes, for recordings with events.
//
// The live table and the sums do not depend on this. Stacks are announced through the same ring,
// and a stack that cannot be announced is missing in the sums: so the last part of the ring is
// theirs, and an event that does not fit into the rest is counted as lost.
#pragma once

#include "../../bpf/maps.h"
#include "../../bpf/pids.h"
#include "config.h"

#define number_mask ((1ULL << number_bits) - 1)
#define address_mask ((1ULL << address_bits) - 1)
#define size_mask ((1ULL << 40) - 1)

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct event_state);
} event_state SEC(".maps");

ALWAYS_INLINE struct event_state* events_now(void) {
  u32 zero = 0;
  return bpf_map_lookup_elem(&event_state, &zero);
}

ALWAYS_INLINE u64 new_number(void) {
  struct event_state* state = own.events ? events_now() : 0;
  return state ? __sync_fetch_and_add(&state->numbers, 1) + 1 : 0;
}

ALWAYS_INLINE void lose_event(void) {
  struct event_state* state = events_now();
  if (state) __sync_fetch_and_add(&state->lost, 1);
}

ALWAYS_INLINE void say_put_back(void) {
  struct event_state* state = own.events ? events_now() : 0;
  if (state) __sync_fetch_and_add(&state->put_back, 1);
}

ALWAYS_INLINE int has_room_for_event(void) {
  return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) < own.event_bytes;
}

// `stack`: the key of the free's stack; 0 = it is not told.
__attribute__((noinline)) int send_end(u64 number, u32 space, u64 stack) {
  struct end_record record = {.type = OF_PROBE(record_end),
                              .tid = shown_tid(bpf_get_current_task_btf()),
                              .time = bpf_ktime_get_ns(),
                              .block = (number & number_mask) | (u64)space << number_bits,
                              .stack = stack};
  long error = !has_room_for_event();
  if (!error && !stack)
    error = bpf_ringbuf_output(&ring, &record, plain_end_bytes, wake_if_filling());
  else if (!error)
    error = bpf_ringbuf_output(&ring, &record, sizeof(record), wake_if_filling());
  if (error) lose_event();
  return 1;
}

// `moved`: the number of the block that a realloc continues; 0 = none.
__attribute__((noinline)) int send_begin(const struct block* block, u64 address, u64 moved) {
  if (!block) return 0;
  const u64 size = block->size < size_mask ? block->size : size_mask;
  struct begin_record record = {.type = OF_PROBE(record_begin),
                                .tid = shown_tid(bpf_get_current_task_btf()),
                                .time = block->time_ns,
                                .block = (block->number & number_mask) | (size >> 16)
                                                                             << number_bits,
                                .stack = block->hash,
                                .address = (address & address_mask) | size << address_bits,
                                .moved = moved,
                                .weight = block->weight,
                                .count = block->count};
  const int plain = !moved && block->weight == block->size && block->count == 1;
  long error = !has_room_for_event();
  if (!error && plain)
    error = bpf_ringbuf_output(&ring, &record, plain_begin_bytes, wake_if_filling());
  else if (!error)
    error = bpf_ringbuf_output(&ring, &record, sizeof(record), wake_if_filling());
  if (error) lose_event();
  return 1;
}

ALWAYS_INLINE void say_end(const struct block* block, u32 space, u64 stack) {
  if (own.events && block->number) send_end(block->number, space, stack);
}
