// SPDX-License-Identifier: BSD-2-Clause
// Hooks of operators new and delete, for allocators that have their own: these need not call
// malloc() and free(). They are put into slots only (patch.h), never found by name, for the C++
// library's operators call malloc(). hooks.cc includes this at its end.
//
// All variants get their arguments in the same registers, so a hook passes on as many as any of
// them has: size or pointer, then size or alignment, then alignment or std::nothrow.
//
// An exception may pass through. Then the C++ library calls this file's personality routine, as the
// frame's unwind information says, which ends the call.
#pragma once

// NOLINTBEGIN(misc-definitions-in-headers): see above

extern "C" __attribute__((visibility("hidden"), used)) int memflame_personality(int, int actions,
                                                                                uint64_t, void*,
                                                                                void*) {
  constexpr int is_cleanup = 2, go_on = 8;  // _UA_CLEANUP_PHASE, _URC_CONTINUE_UNWIND
  if ((actions & is_cleanup) == 0) return go_on;
  outer_call = 0;
  if (self != nullptr && load(self->phase) == phase_calling) store(self->phase, phase_idle);
  return go_on;
}

// NOLINTBEGIN(cppcoreguidelines-macro-usage)
#define MEMFLAME_PERSONALITY asm volatile(".cfi_personality 0x1b, memflame_personality")
#define MEMFLAME_HOOK_new(index)                                                          \
  extern "C" __attribute__((visibility("hidden"))) void* memflame_new_##index(            \
      size_t size, size_t second, const void* third) {                                    \
    MEMFLAME_PERSONALITY;                                                                 \
    return allocate(size, static_cast<Function>(fn_new + (index)), CALLER,                \
                    [&] { return real_operators.allocate[index](size, second, third); }); \
  }
#define MEMFLAME_HOOK_delete(index)                                                  \
  extern "C" __attribute__((visibility("hidden"))) void memflame_delete_##index(     \
      void* pointer, size_t second, size_t third, const void* fourth) {              \
    MEMFLAME_PERSONALITY;                                                            \
    release(pointer, static_cast<Function>(fn_delete + (index)), CALLER,             \
            [&] { real_operators.release[index](pointer, second, third, fourth); }); \
  }
// NOLINTEND(cppcoreguidelines-macro-usage)

#define MEMFLAME_OPERATOR(kind, member, number, name) MEMFLAME_HOOK_##kind(number)
#include "operators.def"

// NOLINTEND(misc-definitions-in-headers)
