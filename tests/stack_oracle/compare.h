// SPDX-License-Identifier: BSD-2-Clause
// Compares a dumped stack with that of the independent unwinder, and names the reason for a
// difference.
#pragma once

#include <string>

#include "tests/stack_oracle/unwinder.h"

namespace memflame::oracle {

struct Verdict {
  std::string name;  // what the table counts
  bool explained = true;
  size_t frames = 0;  // how many were found equal
};

// `process` has to be the one that `stack` comes from.
Verdict compare(const DumpedStack& stack, Process& process);

// Both stacks side by side, for a reader.
std::string side_by_side(const DumpedStack& stack, Process& process);

}  // namespace memflame::oracle
