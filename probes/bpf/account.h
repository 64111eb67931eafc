// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Adds up events by the key that capture() returns.
#pragma once

#include "copy.h"
#include "maps.h"

// The sum of a key, created if missing; null if there is no room.
ALWAYS_INLINE struct sum* sum_in(void* map, u64 key) {
  struct sum* sum = bpf_map_lookup_elem(map, &key);
  if (sum) return sum;
  u32 zero = 0;
  struct sum* empty = bpf_map_lookup_elem(&new_sum, &zero);
  if (empty) insert(map, &key, empty);
  return bpf_map_lookup_elem(map, &key);
}

ALWAYS_INLINE struct sum* sum_of(u64 key) {
  if (key >> 63) return bpf_map_lookup_elem(&sums, &key);
  return sum_in(&notes, key);
}

// Adds to one column of a copied stack: in user space, or in `sums` while the ring is full.
ALWAYS_INLINE void account_copied(u64 key, u32 column, s64 value) {
  struct amount_record amount = {
      .type = OF_PROBE(record_amount), .column = column, .key = key, .value = value};
  if (!bpf_ringbuf_output(&ring, &amount, sizeof(amount), wake_if_filling())) return;
  struct sum* sum = sum_in(&sums, key);
  if (sum && column < columns) {
    __sync_fetch_and_add(&sum->value[column], (u64)value);
    return;
  }
  COUNT(event_drops, 1);
  if (column == 0 && value > 0) COUNT(event_drop_bytes, value * config.column_bytes);
}

// Adds to one column of a stack, and `events` to column `counter` unless that is `columns`. A
// copied stack is a single event, so user space counts these itself.
ALWAYS_INLINE void account_event(u64 key, u32 column, s64 value, u32 counter, u64 events) {
  if (is_copy_key(key)) {
    account_copied(key, column, value);
    return;
  }
  struct sum* sum = sum_of(key);
  if (sum && column < columns) __sync_fetch_and_add(&sum->value[column], (u64)value);
  if (sum && counter < columns) __sync_fetch_and_add(&sum->value[counter], events);
}

// Adds to one column of a stack.
ALWAYS_INLINE void account(u64 key, u32 column, s64 value) {
  account_event(key, column, value, columns, 0);
}

// Loss counters of a stack that became a note.
ALWAYS_INLINE void count_lost_stack(u64 key, u64 bytes) {
  if (key >> 63) return;
  if ((key & 0xff) == note_ring_full) {
    COUNT(ring_full_events, 1);
    COUNT(ring_full_bytes, bytes);
  } else if ((key & 0xff) == note_stack_table_full) {
    COUNT(stack_full_events, 1);
    COUNT(stack_full_bytes, bytes);
  } else if ((key & 0xff) == note_no_state) {
    COUNT(no_state_events, 1);
    COUNT(no_state_bytes, bytes);
  }
}
