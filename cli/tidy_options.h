// SPDX-License-Identifier: BSD-2-Clause
// Options of everything that tidies stacks before it writes them.
#pragma once

#include <boost/program_options.hpp>

#include "collapse/tidy/tidy.h"

namespace memflame {

// For the usage text.
boost::program_options::options_description tidy_option_list();

// Throws Error (usage) when a value is not understood, Error when a list of allocators cannot be
// read.
TidyOptions tidy_options(const boost::program_options::variables_map& values);

// tidy(), and a line on standard error for each option that dropped stacks. Throws Error when none
// is left of a profile that had some.
Profile tidied(Profile profile, const TidyOptions& options);

}  // namespace memflame
