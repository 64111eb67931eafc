// SPDX-License-Identifier: BSD-2-Clause
#include "stack_memory.h"

#include "filter.h"
#include "sys.h"

// The main thread's arguments, as glibc's loader has found them; and behind them its variables, as
// each C library has them until the program sets one.
extern "C" {
extern void* memflame_stack_end asm("__libc_stack_end") __attribute__((weak));
extern char** environ __attribute__((weak));
}

namespace memflame::inside {
namespace {

// A stack that has grown by more than this since the thread was last seen is read by copies.
constexpr uint64_t most_probed = 1 << 20;

// Whether a page can be read. The kernel copies the new signal mask before it looks at `how`, which
// is invalid: the call fails in each case, and changes nothing.
// In a filtered process only the first thread's stack is known to have no gaps.
bool is_readable(const Thread& thread, uint64_t address) {
  if (is_filtered()) return thread.is_main != 0;
  constexpr long invalid_how = 0x7fffffff, mask_bytes = 8;
  constexpr long efault = 14;
  return syscall6(__NR_rt_sigprocmask, invalid_how, static_cast<long>(address), 0, mask_bytes) !=
         -efault;
}

// The first page of [from, to) that cannot be read; `to` if all can.
uint64_t first_unreadable(const Thread& thread, uint64_t from, uint64_t to) {
  for (uint64_t at = from & ~(page - 1); at < to; at += page)
    if (!is_readable(thread, at)) return at;
  return to;
}

// Where the stack of a thread ends. Both C libraries put the control block of a thread at the end
// of its stack, but that of the main thread elsewhere.
uint64_t end_of_stack(const Thread& thread) {
  if (thread.is_main == 0) return thread_block();
  if (&memflame_stack_end != nullptr) return reinterpret_cast<uint64_t>(memflame_stack_end);
  // Elsewhere than on the stack it is too far away to be taken for the end: see most_probed.
  return &environ != nullptr ? reinterpret_cast<uint64_t>(environ) & ~uint64_t{7} : 0;
}

}  // namespace

bool is_on_own_stack(Thread& thread, uint64_t sp) {
  if (MEMFLAME_LIKELY(sp >= thread.own_low && sp < thread.own_high)) return true;
  const bool begins = thread.own_high == 0;
  const uint64_t known = begins ? end_of_stack(thread) : thread.own_low;
  if (sp >= known || known - sp > most_probed) return false;
  // A page between the two that could not be read when another stack was met, and still cannot.
  if (thread.barrier > sp && thread.barrier < known && !is_readable(thread, thread.barrier))
    return false;
  const uint64_t barrier = first_unreadable(thread, sp, known);
  if (barrier < known) {
    thread.barrier = barrier;
    return false;
  }
  if (begins) thread.own_high = known;
  thread.own_low = sp & ~(page - 1);
  return true;
}

bool read_copied(Thread& thread, uint64_t address, void* to, uint64_t size) {
  struct {
    uint64_t at, bytes;
  } local{}, remote{};
  uint64_t offset = address - thread.window_at;
  if (offset >= thread.window_bytes || size > thread.window_bytes - offset) {
    if (is_filtered()) return false;
    // Up to the end of the page and no further, unless the words lie across it.
    const uint64_t in_page = page - address % page;
    uint64_t wanted = in_page < sizeof(thread.window) ? in_page : sizeof(thread.window);
    if (wanted < size) wanted = size;
    local = {reinterpret_cast<uint64_t>(thread.window), wanted};
    remote = {address, wanted};
    const long pid = syscall6(__NR_getpid);
    const long read = syscall6(__NR_process_vm_readv, pid, as_word(&local), 1, as_word(&remote), 1);
    thread.window_at = address;
    thread.window_bytes = read > 0 ? static_cast<uint64_t>(read) : 0;
    if (thread.window_bytes < size) return false;
    offset = 0;
  }
  __builtin_memcpy(to, thread.window + offset, size);
  return true;
}

}  // namespace memflame::inside
