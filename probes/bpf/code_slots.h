// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Entries of code_slots: what is known of the code of a space.
#pragma once

#include "capture.h"

// A child's interpreter is its parent's, without the probes; a new program's is not known yet.
ALWAYS_INLINE void inherit_interpreter(u32 slot, u32 parent) {
  struct interpreter* from = bpf_map_lookup_elem(&interpreters, &parent);
  struct interpreter* to = bpf_map_lookup_elem(&interpreters, &slot);
  if (!to) return;
  if (parent && from)
    *to = *from;
  else
    to->language = language_none;
  to->met[0] = to->met[1] = 0;
}

struct claiming {
  u64 list;
  u32 space, parent;
  u32 claimed;  // 0 = none
};
static int try_code_slot(u32 turn, struct claiming* claiming) {
  u32 space = claiming->space, at = 1 + (space + turn) % (config.code_slots - 1);
  struct code_slot* slot = bpf_map_lookup_elem(&code_slots, &at);
  if (!slot || __sync_val_compare_and_swap(&slot->space, 0, space) != 0) return 0;
  slot->copies = config.new_space_copies;
  slot->list = claiming->list;
  slot->has_unmapped = 0;
  if (config.scripts) inherit_interpreter(at, claiming->parent);
  claiming->claimed = at;
  return 1;
}

// Takes a free entry of code_slots, for a space that begins with the code of another (fork) or with
// no known code (exec). Entry 0 is never used. User space frees it when it has seen the space end.
__attribute__((noinline)) u32 claim_code_slot(u32 space, u32 parent) {
  struct code_slot* from = parent ? bpf_map_lookup_elem(&code_slots, &parent) : 0;
  struct claiming claiming = {.list = from ? from->list : 0, .space = space, .parent = parent};
  bpf_loop(64, try_code_slot, &claiming, 0);
  return claiming.claimed;
}
