// SPDX-License-Identifier: BSD-2-Clause
// Options that select blocks of recordings with events.
#pragma once

#include <boost/program_options.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "collapse/select/query.h"

namespace memflame {

// A command that records has --min-size and --max-size of its own, which leave blocks out of the
// recording. So these two select blocks of files only.
enum class SelectFrom : uint8_t { file, run };

// For the usage text.
boost::program_options::options_description select_options(SelectFrom from = SelectFrom::file);

// All that was given must be true of a block. Throws Error (usage) that shows the place in the
// text.
Query query_of(const boost::program_options::variables_map& values,
               SelectFrom from = SelectFrom::file);

// The words that were given, for a command that selects the same blocks: "--min-size", "4K".
std::vector<std::string> words_of_selection(const boost::program_options::variables_map& values,
                                            SelectFrom from = SelectFrom::file);

}  // namespace memflame
