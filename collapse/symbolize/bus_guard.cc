// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/bus_guard.h"

#include <sys/mman.h>

#include <csignal>
#include <mutex>

namespace memflame {
namespace {

// Per thread: the signal goes to the thread that read.
thread_local volatile uint64_t replaced = 0;

// What the process did with SIGBUS before the first guard.
struct Shared {
  std::mutex mutex;
  size_t guards = 0;
  struct sigaction before {};
};
Shared& shared() {
  static Shared one;
  return one;
}

void replace_page(int signal, siginfo_t* info, void*) {
  constexpr uintptr_t page = 4096;
  const uintptr_t address = reinterpret_cast<uintptr_t>(info->si_addr) & ~(page - 1);
  // Handles only what a truncated file raises, not a hardware error or a signal that a process
  // sent.
  const bool ours = info->si_code == BUS_ADRERR &&
                    ::mmap(reinterpret_cast<void*>(address), page, PROT_READ,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
  if (ours)
    replaced = replaced + 1;
  else
    ::signal(signal, SIG_DFL);  // the instruction is run again, and now it is fatal
}

}  // namespace

BusGuard::BusGuard() : replaced_before_(replaced) {
  Shared& all = shared();
  const std::lock_guard lock(all.mutex);
  if (all.guards++ != 0) return;
  struct sigaction action {};
  action.sa_sigaction = replace_page;
  action.sa_flags = SA_SIGINFO;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, &all.before);
}

BusGuard::~BusGuard() {
  Shared& all = shared();
  const std::lock_guard lock(all.mutex);
  if (--all.guards == 0) ::sigaction(SIGBUS, &all.before, nullptr);
}

uint64_t BusGuard::pages_replaced() const { return replaced - replaced_before_; }

}  // namespace memflame
