// SPDX-License-Identifier: BSD-2-Clause
// The sites of no_frame_pointer's events: each file has one list.
#pragma once

#include <cstdint>
#include <span>

#include "examples/chains/event.h"

namespace chain {

struct Site {
  const char* leaf;     // the function that has the events
  const char* callers;  // see truth::chain()
  void (*run)();        // null: the run() of another site leads here as well
  int64_t events;       // in each round; 0: left open
};

// The rest of the stack, for every site that the main thread runs.
#define TO_MAIN ";chain::one_round();main;+;_start"

std::span<const Site> call_sites();
std::span<const Site> frame_sites();
std::span<const Site> exception_sites();
std::span<const Site> coroutine_sites();
std::span<const Site> signal_sites();
std::span<const Site> tick_sites();
std::span<const Site> switch_sites();

}  // namespace chain
