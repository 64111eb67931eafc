// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/losses.h"

#include <cstdint>

namespace memflame {

Losses losses_of(const bpf::counters& c) {
  Losses losses;
  const auto bytes = [](uint64_t n) { return static_cast<int64_t>(n); };
  losses.add(Loss::live_table_full, c.live_full_events, bytes(c.live_full_bytes));
  losses.add(Loss::stack_table_full, c.stack_full_events, bytes(c.stack_full_bytes));
  losses.add(Loss::ring_full, c.ring_full_events + c.event_drops,
             bytes(c.ring_full_bytes + c.event_drop_bytes));
  losses.add(Loss::process_table_full, c.process_full);
  losses.add(Loss::state_unavailable, c.no_state_events, bytes(c.no_state_bytes));
  losses.add(Loss::out_pointer_unread, c.out_pointer_unread);
  losses.add(Loss::calls_abandoned, c.abandoned);
  losses.add(Loss::free_miss, c.free_misses);
  losses.add(Loss::pools_cut, c.pools_cut);
  return losses;
}

}  // namespace memflame
