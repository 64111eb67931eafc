// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What only fault's programs and their user space share. Plain C.
#pragma once

#include "../bpf/shared.h"

#ifdef __cplusplus
namespace memflame::bpf {
#endif

// Filled by user space before load.
struct fault_config {
  u32 pages;  // resident pages instead of faults
  u32 every;  // a stack for one event in N; 0 or 1 = for each
};

#ifdef __cplusplus
}  // namespace memflame::bpf
#endif
