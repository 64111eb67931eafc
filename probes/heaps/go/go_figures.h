// SPDX-License-Identifier: BSD-2-Clause
// A heap profile of Go as figures of stacks, in the columns of a sampled run of the probe that
// follows blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "core/recording.h"
#include "probes/heaps/go/go_heap.h"
#include "probes/probe.h"

namespace memflame {

// The figures of one stack, in the order of bpf::sum.
struct GoSum {
  std::vector<int64_t> values;
  int64_t samples = 0;
};
using GoSums = std::map<uint64_t, GoSum>;  // by the stack's key

GoSums go_sums(const GoHeap& heap, const std::function<uint64_t(const GoBucket&)>& key_of);

// The probe's columns, and one of what a collector has freed, by which verdicts know that there is
// one.
std::vector<ValueType> go_types(const Probe& probe, const ProbeOptions& options, bool sampled);
// A row in the first N of these columns; the last of them is what a collector has freed.
std::vector<int64_t> go_row(const GoSum& sum, size_t columns);

}  // namespace memflame
