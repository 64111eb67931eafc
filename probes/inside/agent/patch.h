// SPDX-License-Identifier: BSD-2-Clause
// Hooks of an agent that came into a running process: nothing finds them by name, so the slots are
// changed through which objects call the allocator.
//
// A slot is changed only while the loader's lock is held, which dlsym() does when it calls an
// indirect function: then no object is being relocated or unloaded. (glibc takes the lock before
// anything else, so a thread may even be taken back while it waits for it.) No slot is remembered:
// both directions look at what is loaded now. A page that was made writable stays so, because
// another thread may be writing to the same page.
//
// What loads libraries is hooked too: dlopen(), dlsym() and the like first look whether there are
// new objects, and then go on in the real function by a jump, so that this finds the same caller:
// glibc searches libraries by the caller's RUNPATH. dlsym() does not give away what has a hook, and
// dlopen() of a path, for which the caller does not matter, looks again when it has returned
// (answers.h). The calls of other libraries are seen from the next dlsym() on.
//
// What is not covered: addresses of functions that the program has kept since before, calls within
// the allocator's own file, and the dynamic linker's own memory.
#pragma once

#include "probes/inside/exchange/attach_protocol.h"

extern "C" {
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): zeroes, before any code runs
extern memflame::inside::AttachRequest memflame_request __attribute__((visibility("default")));
}

namespace memflame::inside {

// All of these are for a thread that holds the loader's lock.

// Fills `real`, by what is loaded, if nothing has.
AttachResult find_originals();
// Whether the program itself defines malloc(). True if that is not known.
bool has_own_malloc();
// How many slots were changed, and how many cannot be.
struct Changes {
  uint64_t changed = 0, failed = 0;
};
Changes put_hooks_in();
Changes take_hooks_out();
// For an agent that was preloaded, before there are threads, when `real` is filled: hooks the
// allocator's own operators. False if it has none.
bool hook_operators();
// Hooks have been put in: libraries that come later are to have them, too.
void follow_libraries();
bool follows_libraries();
// Puts hooks into libraries that have come since.
void look_again();

}  // namespace memflame::inside
