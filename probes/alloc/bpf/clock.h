// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// With --max-overhead: measures what the programs cost the target. One run in sixteen is timed.
#pragma once

enum { timed_runs = 16, longest_run_ns = 500000 };
ALWAYS_INLINE u64 start_clock(void) {
  if (!own.governed || bpf_get_prandom_u32() % timed_runs != 0) return 0;
  return bpf_ktime_get_ns();
}

ALWAYS_INLINE void stop_clock(u64 start) {
  if (!start) return;
  const u64 ns = bpf_ktime_get_ns() - start;
  if (ns > longest_run_ns) return;  // something else ran meanwhile
  COUNT(own[alloc_timed_runs], 1);
  COUNT(own[alloc_timed_ns], ns);
}
