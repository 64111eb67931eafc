// SPDX-License-Identifier: BSD-2-Clause
// How memflame speaks to an agent that it has brought into a running process: it writes a request
// into the agent's memory, and has a thread of the process call the agent's functions.
//
// The agent's dynamic symbols for that:
//
//   memflame_request     the AttachRequest
//   memflame_join        a function: joins the run that the request names
//   memflame_find        finds the functions behind the hooks
//   memflame_hooks_in    and
//   memflame_hooks_out   change slots; hooks_out leaves the run
//
// The last three are indirect functions (STT_GNU_IFUNC): dlsym() of their names calls them while it
// holds the loader's lock, so that no object is relocated or unloaded meanwhile.
//
// Each returns an AttachResult, for dlsym() as the address that it found.
#pragma once

#include <stdint.h>  // NOLINT(modernize-deprecated-headers): the agent has no C++ library

namespace memflame::inside {

enum AttachResult : uint64_t {
  attach_failed,  // the call itself did
  attach_done,
  attach_busy,        // the agent serves another run, whose memflame lives
  attach_unfounded,   // no allocator was found
  attach_in_program,  // the allocator is in the program's own file, which calls it directly
  attach_no_answer,   // memflame does not answer, or there is no memory
};

struct AttachRequest {
  char run[72];          // its address, as socket_variable has it
  uint64_t handle;       // of the agent's library, for dlsym(); 0 = it was preloaded
  uint64_t is_attached;  // 1: hooks are in slots, not in the order of names
  // By the last change of slots: how many were changed, and how many cannot be.
  uint64_t changed, failed;
};

}  // namespace memflame::inside
