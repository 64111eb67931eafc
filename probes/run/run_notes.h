// SPDX-License-Identifier: BSD-2-Clause
// Notes on what a run's figures cover.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "probes/options/options.h"
#include "probes/run/run.h"

namespace memflame {

// "filtered: only blocks of 4,096 bytes or more (--min-size)": one for each option that leaves
// blocks out. Empty if everything counts.
std::vector<std::string> filters_in_words(const ProbeOptions& options);

// "12 allocations (3.0 KiB), 9 of their blocks freed (2.0 KiB)": by the counters of blocks.
// `sampled`: they are those that were kept, even if nobody counted what was passed over.
std::string allocations_in_words(const bpf::counters& counters, bool sampled = false);

// Throws Error if no process was watched. If processes were watched but did nothing, adds a note to
// the recording: with `nothing`, "no call of …".
void judge_emptiness(const std::string& nothing, const ProbeOptions& options, Run& run);
std::string nothing_in_words(std::span<const ProbeRun> probes);

}  // namespace memflame
