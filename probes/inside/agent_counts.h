// SPDX-License-Identifier: BSD-2-Clause
// What the agents of a run counted. A process can write anything into its counters, so a figure
// that it cannot have reached in its time is left out, and the process counts as one that has
// damaged them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "probes/inside/exchange/protocol.h"

namespace memflame::inside {

// The counters of one process, each read once.
struct AgentFigures {
  uint64_t reentered = 0, lost = 0, lost_bytes = 0, waited_us = 0;
  uint64_t ringless = 0, ringless_bytes = 0, ringless_frees = 0, namespaces = 0;
  uint64_t checked = 0, differing = 0, sample_ticks = 0, scripts_unread = 0;
  uint32_t python = 0;
};
AgentFigures figures_of(const Process& process);

// How long a process was watched, times its threads.
struct AgentTime {
  uint64_t us = 0, ticks = 0;
  AgentTime of_threads(uint64_t threads) const;
};

bool can_be(const AgentFigures& figures, const AgentTime& time);

// How many processes can have been forked, or programs executed, on this machine in a time.
uint64_t most_begun(uint64_t ns);

struct AgentCounts {
  uint64_t reentered = 0, lost = 0, waited_us = 0;
  uint64_t ringless = 0, ringless_frees = 0, namespaces = 0;
  uint64_t checked = 0, differing = 0;  // stacks walked twice, by an agent made for tests
  int64_t lost_bytes = 0, ringless_bytes = 0;
  uint64_t sample_ticks = 0;
  uint64_t scripts_unread = 0;
  std::array<size_t, python_states> python{};  // address spaces, by PythonState
  uint64_t damaged = 0;                        // processes with a figure that cannot be
  void add(const AgentFigures& figures, const AgentTime& time);
};

}  // namespace memflame::inside
