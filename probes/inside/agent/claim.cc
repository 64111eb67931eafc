// SPDX-License-Identifier: BSD-2-Clause
// A forked child joins its parent's run in memory that both files gave it: it may have locked
// itself in by a filter of system calls before it allocates.
#include "filter.h"
#include "join.h"
#include "sys.h"

namespace memflame::inside {
namespace {

constexpr uint32_t answer_nap_us = 50;

void raise(uint32_t& to, uint32_t least) {
  uint32_t value = load(to);
  while (value < least && !__atomic_compare_exchange_n(&to, &value, least, false, __ATOMIC_RELAXED,
                                                       __ATOMIC_RELAXED)) {
  }
}

// The first free entry; most_processes if there is none.
uint32_t take_entry(Control& control, Process* entries) {
  for (uint32_t i = 0; i < most_processes; ++i) {
    uint32_t expected = state_free;
    if (load(entries[i].state) != state_free ||
        !__atomic_compare_exchange_n(&entries[i].state, &expected,
                                     static_cast<uint32_t>(state_taken), false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
      continue;
    raise(control.processes, i + 1);
    return i;
  }
  add(control.refused, 1U);
  return most_processes;
}

// False if memflame does not want this process, or is gone.
bool wait_for_answer(Control& control, Process& entry) {
  uint32_t state = state_asking;
  while ((state = load_acquire(entry.state)) == state_asking) {
    if (load(control.closed) != 0 || has_memflame_gone(control)) return false;
    ring(control, rests_until_arrival);
    rest_a_little(answer_nap_us, timing.ticks_per_ms);
  }
  if (state == state_refused) store_release(entry.state, static_cast<uint32_t>(state_free));
  return state == state_owned;
}

}  // namespace

bool claim_entry() {
  auto& control = *reinterpret_cast<Control*>(inherited.exchange);
  auto* const entries = reinterpret_cast<Process*>(inherited.exchange + processes_at);
  if (is_timeless()) return false;
  const Ids ids = ids_of_child();
  if (load(control.closed) != 0 || has_memflame_gone(control)) return false;
  const uint32_t index = take_entry(control, entries);
  if (index == most_processes) return false;
  Process& entry = entries[index];
  entry.pid = static_cast<uint32_t>(ids.process);
  entry.parent = inherited.index;
  entry.began = ticks();
  tell_functions(entry.functions);
  store_release(entry.state, static_cast<uint32_t>(state_asking));
  add(control.arrivals, 1U);
  if (!wait_for_answer(control, entry)) return false;
  inherited.index = index;
  return true;
}

}  // namespace memflame::inside
