// SPDX-License-Identifier: BSD-2-Clause
// A preloaded agent joins its run when the program starts, though that may allocate late or never:
// memflame takes a program in which no agent has spoken for one that it cannot see.
#include "hooked.h"
#include "join.h"

extern "C" {
extern char** environ __attribute__((weak));
extern void* memflame_stack_end asm("__libc_stack_end") __attribute__((weak));
}

namespace memflame::inside {

const char* variable(const char* name) {
  char** entry = &environ != nullptr ? environ : nullptr;
  if (entry == nullptr && &memflame_stack_end != nullptr && memflame_stack_end != nullptr) {
    // System V ABI, x86-64, 3.4.1: the number of arguments, the arguments, 0, the environment.
    auto* const words = static_cast<uint64_t*>(memflame_stack_end);
    entry = reinterpret_cast<char**>(words + 1 + words[0] + 1);
  }
  for (; entry != nullptr && *entry != nullptr; ++entry) {
    const char* at = *entry;
    const char* letter = name;
    while (*letter != 0 && *at == *letter) ++at, ++letter;
    if (*letter == 0 && *at == '=') return at + 1;
  }
  return nullptr;
}

namespace {

int look_for_own(MemflameLoaded* loaded, size_t, void* path) {
  Object object;
  if (!describe(*loaded, object) || !is_agent(object)) return 0;
  *static_cast<const char**>(path) = loaded->name;
  return 1;
}

// An agent that comes into a running process starts, too, and may find the variables of a run
// before.
__attribute__((constructor)) void start() {
  const char* const run = variable(socket_variable);
  if (run == nullptr || &dl_iterate_phdr == nullptr) return;
  const char* own = nullptr;
  dl_iterate_phdr(look_for_own, &own);
  if (own != nullptr && is_from(own, run) && find_real()) begin_process();
}

}  // namespace
}  // namespace memflame::inside
