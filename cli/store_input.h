// SPDX-License-Identifier: BSD-2-Clause
// A store as an input: clickhouse://HOST/DATABASE?service=NAME&…
#pragma once

#include <boost/program_options.hpp>
#include <string>

#include "collapse/input.h"
#include "core/profile.h"

namespace memflame {

// What a store has, as the profile of an input. Throws Error, also for options of other formats.
Profile read_store(const std::string& address, const boost::program_options::variables_map& values,
                   const ReadOptions& options);

}  // namespace memflame
