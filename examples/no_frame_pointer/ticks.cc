// SPDX-License-Identifier: BSD-2-Clause
// Signal handlers at any instruction: in prologues and epilogues, in linkage table entries, in code
// that the kernel provides. The interrupted code never allocates, so the handlers may.
#include <cstdlib>
#include <ctime>

#include "examples/no_frame_pointer/prepare.h"
#include "examples/no_frame_pointer/sites.h"
#include "examples/truth/report.h"

namespace chain {

volatile sig_atomic_t ticked = 0;
timer_t in_function_timer, in_library_timer, in_vdso_timer;

OWN_FRAME void on_tick_in_function(int) {
  event();
  ticked = 1;
}
OWN_FRAME void on_tick_in_library(int) {
  event();
  ticked = 1;
}
OWN_FRAME void on_tick_in_vdso(int) {
  event();
  ticked = 1;
}

// Fires within the next 60 microseconds, at another instruction each round.
OWN_FRAME void tick(timer_t timer) {
  static unsigned state = 1;
  state = state * 1664525 + 1013904223;
  itimerspec when{};
  when.it_value.tv_nsec = 1 + static_cast<long>((state >> 8) % 60000);
  ticked = 0;
  if (timer_settime(timer, 0, &when, nullptr) != 0) truth::fail("no timer");
}

// Uses so much that it has to save registers.
OWN_FRAME long spun(long a, long b, long c) {
  long sums[6] = {a, b, c, a + b, b + c, a + c};
  for (long i = 0; i < 3; ++i) {
    for (long& sum : sums) sum = sum * 31 + i;
    keep(sums);
  }
  return sums[0] + sums[5];
}
OWN_FRAME void spins() {
  tick(in_function_timer);
  for (long i = 0; ticked == 0; ++i) spun(i, i + 1, i + 2);
}
OWN_FRAME void spins_in_library() {
  tick(in_library_timer);
  for (long i = 0; ticked == 0; ++i) keep(div(static_cast<int>(i), 7).quot == 0 ? nullptr : &i);
}
OWN_FRAME void spins_in_vdso() {
  tick(in_vdso_timer);
  timespec now{};
  while (ticked == 0) clock_gettime(CLOCK_MONOTONIC, &now);
}

timer_t create(int signal) {
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = signal;
  timer_t timer{};
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) truth::fail("no timer");
  return timer;
}

void prepare_ticks() {
  handle(SIGRTMIN + 4, on_tick_in_function, 0);
  handle(SIGRTMIN + 5, on_tick_in_library, SA_ONSTACK);
  handle(SIGRTMIN + 6, on_tick_in_vdso, 0);
  in_function_timer = create(SIGRTMIN + 4);
  in_library_timer = create(SIGRTMIN + 5);
  in_vdso_timer = create(SIGRTMIN + 6);
}

namespace {
// A tick can be early, before the call that set the timer has returned.
constexpr Site list[] = {
    {"chain::on_tick_in_function(int)",
     "+;?chain::spun(long, long, long);?chain::tick(void*);chain::spins()" TO_MAIN, spins, 1},
    {"chain::on_tick_in_library(int)", "+;?chain::tick(void*);chain::spins_in_library()" TO_MAIN,
     spins_in_library, 1},
    {"chain::on_tick_in_vdso(int)", "+;?chain::tick(void*);chain::spins_in_vdso()" TO_MAIN,
     spins_in_vdso, 1},
};
}  // namespace

std::span<const Site> tick_sites() { return list; }

}  // namespace chain
