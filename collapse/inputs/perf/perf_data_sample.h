// SPDX-License-Identifier: BSD-2-Clause
// One sample of perf.data.
#pragma once

#include <vector>

#include "collapse/inputs/perf/perf_data_file.h"

namespace memflame {

struct PerfSample {
  uint32_t pid = 0, tid = 0;
  uint64_t period = 1;
  std::vector<uint64_t> kernel, user;  // leaf first; the first address is exact, the others are
                                       // return addresses
};

// Reads a sample of an event; the vectors are reused. False if it is damaged.
bool parse_perf_sample(const PerfRecord& record, const perf_event_attr& attr, PerfSample& sample);

}  // namespace memflame
