// SPDX-License-Identifier: BSD-2-Clause
// The counters of the BPF programs, and the losses that they tell.
#pragma once

#include <string>

#include "core/recording.h"
#include "probes/bpf/shared.h"

namespace memflame {

void add(bpf::counters& sum, const bpf::counters& more);
Losses losses_of(const bpf::counters& counters);

// "lost 12: ring buffer full 12 (3.0 KiB)", or "" if nothing was lost.
std::string lost_in_words(const Losses& losses);

}  // namespace memflame
