// SPDX-License-Identifier: BSD-2-Clause
// Options of the probes that follow blocks of memory: alloc and kernel, and so of leaks.
#pragma once

#include <boost/program_options.hpp>
#include <cstdint>
#include <string>

#include "probes/options.h"
#include "probes/probe.h"

namespace memflame {

// None for probes that know no blocks.
boost::program_options::options_description block_options(const Probe& probe);
void read_block_options(const boost::program_options::variables_map& values, ProbeOptions& options);

// "512K", "1.5MiB", "4096": bytes. Throws Error (usage) with the option's name.
uint64_t parse_bytes(const std::string& option, const std::string& text);

}  // namespace memflame
