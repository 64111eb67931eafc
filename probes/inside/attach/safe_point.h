// SPDX-License-Identifier: BSD-2-Clause
// Whether functions can be called in a thread where it has been interrupted: it must hold no lock
// that they take, and be in the middle of nothing that they use. That is so if no frame of its
// stack is in the allocator or in the dynamic linker; and in the C library only at the outermost
// end, where threads begin, or in a system call that waits. The same holds for what a signal
// handler has interrupted: some programs, as PostgreSQL up to 15, begin processes in one, and they
// run there for ever.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "core/recording.h"
#include "probes/inside/attach/target.h"
#include "probes/inside/attach/tracee.h"
#include "probes/unwind/copied_stack.h"

namespace memflame::inside {

// The thread's stack as it is.
unwind::WalkedStack stack_of(const Tracee& tracee, const unwind::FindRow& find);

// Why nothing can be called there; "" if it can.
std::string why_unsafe(const AttachTarget& target, const unwind::WalkedStack& stack,
                       long system_call);

// The same by what matters of the frames, leaf first. `system_call`: the number of the one that the
// thread is in, or -1. `waits`: whether the C library's function that was called, of which the
// frame has this index, is one that only waits.
struct PlacedFrame {
  Place place = Place::program;
  bool is_return = false;
};
std::string why_unsafe(std::span<const PlacedFrame> frames, long system_call,
                       const std::function<bool(size_t)>& waits);

// Whether a frame is in the agent, other than in a function that loads or unloads libraries: these
// may be there for as long as a library's constructors run.
bool is_in_agent(const AttachTarget& target, const unwind::WalkedStack& stack);

}  // namespace memflame::inside
