// SPDX-License-Identifier: BSD-2-Clause
// Whether the hooks of Python's own allocator (agent/python.h) can go into a process. Only reads.
#pragma once

#include <string>

#include "probes/inside/attach/target.h"

namespace memflame::inside {

// "" if they can.
std::string why_no_python_heap(const AttachTarget& target);

}  // namespace memflame::inside
