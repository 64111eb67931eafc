// SPDX-License-Identifier: BSD-2-Clause
// A filter of system calls (seccomp) may kill a process for a call that the program itself would
// never make. So the agent makes none in a process that has a filter of its own: it waits by
// spinning, takes memory that was mapped before, and leaves stacks cut that it could only copy.
// The hooks of prctl() and syscall() tell when a filter comes.
#pragma once

#include "state.h"

namespace memflame::inside {

// NOLINTNEXTLINE(bugprone-dynamic-static-initializers)
extern uint32_t filtered asm("memflame_filtered") __attribute__((visibility("hidden")));

inline bool is_filtered() { return MEMFLAME_UNLIKELY(load(filtered) != 0); }

// A program may give up the processor's time stamp counter: to read it is a crash from then on. Its
// threads then get no ring, since records need the time; what they allocate is counted as lost.
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers)
extern uint32_t timeless asm("memflame_timeless") __attribute__((visibility("hidden")));

inline bool is_timeless() { return MEMFLAME_UNLIKELY(load(timeless) != 0); }
// Asks the kernel whether this thread has given it up.
bool begins_timeless();

// Whether the program was started with more filters than memflame itself has. Makes only system
// calls that the dynamic linker has made as well. Without /proc it is taken to have none.
bool begins_filtered(uint64_t filters_of_memflame);

// As the kernel counts them, in the process's own PID namespace; 0 = not known.
struct Ids {
  long process = 0, thread = 0;
};
Ids own_ids();
// The same for the only thread of a forked child.
Ids ids_of_child();

// Waits without giving up the processor if the process is filtered.
void rest_a_little(uint32_t microseconds, uint64_t ticks_per_ms);

}  // namespace memflame::inside
