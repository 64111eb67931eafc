// SPDX-License-Identifier: BSD-2-Clause
// Makes losses from the counters of the BPF programs.
#pragma once

#include "core/recording.h"
#include "probes/bpf/shared.h"

namespace memflame {

Losses losses_of(const bpf::counters& counters);

}  // namespace memflame
