// SPDX-License-Identifier: BSD-2-Clause
// Which functions have hooks, and where the functions behind them are kept.
#pragma once

#include "objects.h"
#include "state.h"

extern "C" {
// The functions behind the hooks of loading.cc, filter.cc and executing.cc.
// NOLINTBEGIN(bugprone-dynamic-static-initializers)
__attribute__((visibility("hidden"))) extern uint64_t memflame_real_dlopen, memflame_real_dlmopen,
    memflame_real_dlsym, memflame_real_dlvsym, memflame_real_prctl, memflame_real_syscall,
    memflame_real_execve, memflame_real_execv, memflame_real_execvp, memflame_real_execvpe,
    memflame_real_execl, memflame_real_execle, memflame_real_execlp, memflame_real_fexecve,
    memflame_real_execveat, memflame_real_posix_spawn, memflame_real_posix_spawnp,
    memflame_real_system, memflame_real_popen;
// NOLINTEND(bugprone-dynamic-static-initializers)
}

namespace memflame::inside {

using Place [[gnu::may_alias]] = uint64_t;  // of a pointer to a function

struct Hooked {
  const char* name;
  uint64_t hook;
  Place* original;  // 0: the process has none
};

constexpr uint32_t hooked_count = 57, first_loader = 18, first_operator = 37;

// By value: made when it is asked for, so that it needs no relocations.
struct HookedList {
  Hooked all[hooked_count];
  const Hooked* named(const char* name) const;  // null if that has no hook
};
HookedList hooked_list();

bool is_agent(const Object& object);
// The address of a function that the object defines; 0 = it does not.
uint64_t defined(const Object& object, const char* name);

}  // namespace memflame::inside
