// SPDX-License-Identifier: BSD-2-Clause
// The unit in which BPF programs add up variances of sampled blocks.
#pragma once

#include "probes/bpf/shared.h"

namespace memflame {

// One of a column of variances, in squares of bytes.
inline constexpr double variance_unit = 1 << 2 * bpf::variance_shift;

}  // namespace memflame
