// SPDX-License-Identifier: BSD-2-Clause
// How threads wait for memflame, and when they take it for gone.
#include "filter.h"
#include "sys.h"

namespace memflame::inside {

void ring(Control& control, Rest least) {
  if (load(control.rests) < least || is_filtered() ||
      __atomic_exchange_n(&control.rests, uint32_t{rests_not}, __ATOMIC_RELAXED) == rests_not)
    return;
  add(control.bell, 1U);
  wake(control.bell);
}

bool has_memflame_gone(const Control& control) {
  const uint64_t silent = ticks() - load(control.heartbeat);
  return static_cast<int64_t>(silent) > 0 && silent > timing.ticks_per_ms * timing.patience_ms;
}

bool wait_a_little(uint32_t nap_us, Patience patience) {
  Control& control = *here->control;
  if (has_memflame_gone(control)) {
    store(control.reading, 0U);
    return false;
  }
  const uint64_t now = ticks();
  const uint64_t per_ms = timing.ticks_per_ms;
  if (now - load(here->wait_began) > per_ms * 1000) {
    store(here->wait_began, now);
    store(here->waited, 0);
  }
  if (patience == Patience::within_limit &&
      load(here->waited) >= uint64_t{timing.max_wait_ms} * 1000)
    return false;
  ring(control, rests_until_bell);
  rest_a_little(nap_us, per_ms);
  const uint64_t waited = (ticks() - now) * 1000 / (per_ms != 0 ? per_ms : 1);
  add(here->waited, waited);
  add(here->process->waited_us, waited);
  return true;
}

}  // namespace memflame::inside
