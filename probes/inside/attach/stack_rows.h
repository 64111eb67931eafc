// SPDX-License-Identifier: BSD-2-Clause
// The unwind rows of a process, as they are published for the agent in it.
#pragma once

#include <cstdint>

#include "probes/inside/exchange/exchange.h"
#include "probes/unwind/copied_stack.h"

namespace memflame::inside {

// `process`: its index. May be called by a thread while another one publishes.
unwind::FindRow published_rows(Exchange& exchange, uint32_t process);

}  // namespace memflame::inside
