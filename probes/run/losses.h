// SPDX-License-Identifier: BSD-2-Clause
// What the BPF programs could not count, as losses.
#pragma once

#include "core/recording.h"
#include "probes/bpf/shared.h"

namespace memflame {

Losses losses_of(const bpf::counters& counters);

}  // namespace memflame
