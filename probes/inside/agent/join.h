// SPDX-License-Identifier: BSD-2-Clause
// How a process comes into a run: by a handshake, or as a forked child by a claim.
#pragma once

#include "state.h"

namespace memflame::inside {

// What a forked child finds as its parent left it, unlike `here`. The exchange stays where it is
// for ever: threads look into it at each call.
struct Inherited {
  uint8_t *exchange, *tables;
  uint64_t table_bytes, rows_at, rows_bytes;
  uint32_t index;  // of the process
  uint32_t rings;  // that `exchange` has: as many as the first run gave
};
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers)
extern Inherited inherited;

// Joins the run at this address, "SOCKET:TOKEN:FILTERS:FOLDER" (protocol.h): maps its files, and
// fills `inherited`.
bool shake_hands(const char* address);
// Whether the agent in this file is the one that comes with that run's programs.
bool is_from(const char* path, const char* run);
// The size of an exchange with this many rings.
inline uint64_t mapped_bytes(uint32_t rings) { return rings_at + place_of_ring(rings); }

// Joins the run of the parent, whose files are mapped.
bool claim_entry();

// The value of an environment variable, also before the C library has begun; null = not set.
const char* variable(const char* name);

// The addresses of the functions behind the hooks, by Function.
void tell_functions(uint64_t (&functions)[function_count]);

}  // namespace memflame::inside
