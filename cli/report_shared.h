// SPDX-License-Identifier: BSD-2-Clause
// What reports of a recording and of a run that goes on have in common.
#pragma once

#include <boost/program_options.hpp>
#include <cstddef>

#include "core/report.h"

namespace memflame {

// --icicle, --anonymise, --bins
void add_report_options(boost::program_options::options_description& options);

// The value of --bins. Throws Error(usage).
size_t bins_of(const boost::program_options::variables_map& values);

}  // namespace memflame
