// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/bell.h"

#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <csignal>

#include "core/error.h"
#include "probes/inside/exchange/exchange.h"

namespace memflame::inside {
namespace {

// A process that rings without end is heard no more often than this.
constexpr std::chrono::microseconds between_rings{100};

long futex(uint32_t& word, int operation, uint32_t value) {
  return ::syscall(SYS_futex, &word, operation, value, nullptr, nullptr, 0);
}

}  // namespace

Bell::Bell(Control& control) : control_(control), rung_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!rung_) throw Error("inside: no descriptor to wait for (eventfd)");
  // Signals are for the threads that expect them.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this, heard = taken_once(control_.bell)] { listen(heard); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Bell::~Bell() {
  ends_ = true;
  std::atomic_ref(control_.bell).fetch_add(1);
  futex(control_.bell, FUTEX_WAKE, INT_MAX);
  thread_.join();
}

void Bell::begin_rest(Rest rest) { publish(control_.rests, uint32_t{rest}); }

void Bell::end_rest() { publish(control_.rests, uint32_t{rests_not}); }

void Bell::answer() {
  uint64_t times = 0;
  [[maybe_unused]] const ssize_t taken = ::read(rung_.get(), &times, sizeof(times));
}

void Bell::listen(uint32_t heard) {
  while (!ends_) {
    futex(control_.bell, FUTEX_WAIT, heard);
    const uint32_t now = taken_once(control_.bell);
    if (now == heard) continue;
    heard = now;
    const uint64_t once = 1;
    [[maybe_unused]] const ssize_t told = ::write(rung_.get(), &once, sizeof(once));
    std::this_thread::sleep_for(between_rings);
  }
}

}  // namespace memflame::inside
