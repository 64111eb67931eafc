// SPDX-License-Identifier: BSD-2-Clause
// Options of everything that tidies stacks before it writes them.
#pragma once

#include <boost/program_options.hpp>

#include "collapse/tidy/tidy.h"

namespace memflame {

// For the usage text.
boost::program_options::options_description tidy_option_list();

// Those of them that say what a frame stands for. Probes take these only.
boost::program_options::options_description grouping_option_list();
TidyOptions grouping_options(const boost::program_options::variables_map& values);

// Throws Error (usage) when a value is not understood, Error when a list of allocators cannot be
// read.
TidyOptions tidy_options(const boost::program_options::variables_map& values);

}  // namespace memflame
