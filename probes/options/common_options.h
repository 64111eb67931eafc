// SPDX-License-Identifier: BSD-2-Clause
// Rows of options that several probes share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "probes/options/option_row.h"
#include "probes/options/options.h"

namespace memflame {

// The largest N of --every. With a larger N the sums of squared weights would overflow.
inline constexpr uint32_t most_every = 1U << 24;

// --every N: keeps one event in N.
OptionRow every_row(uint32_t& into, OptionGroup group, std::string help);
OptionRow kernel_stacks_row(ProbeOptions& options);
// How user stacks are taken.
std::vector<OptionRow> stack_rows(ProbeOptions& options);
// Which blocks are followed, and how many.
std::vector<OptionRow> block_rows(ProbeOptions& options);

}  // namespace memflame
