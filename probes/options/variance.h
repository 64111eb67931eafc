// SPDX-License-Identifier: BSD-2-Clause
// The unit in which BPF programs add up the variances of sampled blocks.
#pragma once

#include "probes/bpf/shared.h"

namespace memflame {

// A 1 in a column of variances stands for this many squared bytes.
inline constexpr double variance_unit = 1 << 2 * bpf::variance_shift;

}  // namespace memflame
