// SPDX-License-Identifier: BSD-2-Clause
// What a service had in use over time, with a line for each of its largest stacks.
#pragma once

#include <cstddef>

#include "core/timeline.h"
#include "fleet/clickhouse/selection.h"

namespace memflame {

struct StoreTimelineOptions {
  size_t top = 10;      // stacks with a line of their own
  size_t points = 450;  // of a line, at most
};

// The question's type is a state (default: inuse_space). A point is the sum over all hosts of the
// last windows that ended by then.
Timeline store_timeline(const StoreQuestion& question, const StoreTimelineOptions& options);

}  // namespace memflame
