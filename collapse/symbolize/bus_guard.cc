#include "collapse/symbolize/bus_guard.h"

#include <sys/mman.h>

namespace memflame {
namespace {

volatile sig_atomic_t replaced = 0;

void replace_page(int signal, siginfo_t* info, void*) {
  constexpr uintptr_t page = 4096;
  const uintptr_t address = reinterpret_cast<uintptr_t>(info->si_addr) & ~(page - 1);
  // Only what a short file raises; a hardware error or a signal sent by someone is not ours.
  const bool ours = info->si_code == BUS_ADRERR &&
                    ::mmap(reinterpret_cast<void*>(address), page, PROT_READ,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
  if (ours)
    replaced = replaced + 1;
  else
    ::signal(signal, SIG_DFL);  // the instruction is run again, and now it is fatal
}

}  // namespace

BusGuard::BusGuard() {
  replaced = 0;
  struct sigaction action {};
  action.sa_sigaction = replace_page;
  action.sa_flags = SA_SIGINFO;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, &before_);
}

BusGuard::~BusGuard() { ::sigaction(SIGBUS, &before_, nullptr); }

uint64_t BusGuard::pages_replaced() { return static_cast<uint64_t>(replaced); }

}  // namespace memflame
