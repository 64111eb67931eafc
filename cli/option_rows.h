// SPDX-License-Identifier: BSD-2-Clause
// The rows of a probe's options as options of the command line.
#pragma once

#include <boost/program_options.hpp>
#include <cstdint>
#include <span>
#include <string>

#include "probes/options/option_row.h"

namespace memflame {

// Adds the rows that are listed under this heading.
void add_rows(boost::program_options::options_description& options, std::span<const OptionRow> rows,
              OptionGroup group);

// Sets what the rows point to, for each option that was given. Throws Error(usage) with the
// option's name for a value that it does not take.
void read_rows(const boost::program_options::variables_map& values,
               std::span<const OptionRow> rows);

}  // namespace memflame
