// SPDX-License-Identifier: BSD-2-Clause
// Reads the stack of the calling thread without ever faulting.
//
// The stack that a thread began on is mapped as long as the thread lives, from the present frame up
// to the thread's control block (the main thread: to its arguments). It is found once, page by
// page, and then read directly. Any other stack (coroutines, signal handlers) may be unmapped at
// any time, so the kernel copies what is needed, a window at a time.
#pragma once

#include "state.h"

namespace memflame::inside {

// True if [sp, thread.own_high) can be read directly, as long as this frame is there.
bool is_on_own_stack(Thread& thread, uint64_t sp);

// Reads by copies. False if the memory cannot be read.
bool read_copied(Thread& thread, uint64_t address, void* to, uint64_t size);

}  // namespace memflame::inside
