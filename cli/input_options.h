// SPDX-License-Identifier: BSD-2-Clause
// Options of everything that reads stacks: which files, which format, and which parts.
#pragma once

#include <boost/program_options.hpp>
#include <string>
#include <vector>

#include "cli/command_page.h"
#include "collapse/input.h"
#include "core/profile.h"

namespace memflame {

// The options that the usage text shows; input_files() has the files as a hidden option "input".
boost::program_options::options_description input_options();
boost::program_options::options_description input_files();
// The options of the compatible mode, which only collapse has.
boost::program_options::options_description compat_options();

// The only input of a command that takes one recording; throws Error (usage) that shows `usage`.
std::string recording_named(const boost::program_options::variables_map& values,
                            const std::string& command, const std::string& usage);

// How often --at is given.
size_t times_of(const boost::program_options::variables_map& values);

// Processor cores to use. Both throw Error (usage) when a value is not understood. `time`: which of
// several --at.
unsigned threads_of(const boost::program_options::variables_map& values);
ReadOptions read_options(const boost::program_options::variables_map& values, size_t time = 0);

// All inputs ("-" if none is named) as one profile, showing the column of --value. With `code` its
// frames have addresses if the input has them, with `verdicts` recordings are judged.
Profile read_inputs(const boost::program_options::variables_map& values, bool code = false,
                    bool verdicts = false);

// Reads one input. Notes on what was not understood name the input.
Profile read_input(const std::string& path, const boost::program_options::variables_map& values,
                   const ReadOptions& options);

// Throws Error (lossy) if something was lost and --strict is given.
void require_nothing_lost(const Profile& profile,
                          const boost::program_options::variables_map& values);

// Shows the column of that name. Throws Error (usage) that lists the columns.
void choose_value(Profile& profile, const std::string& value);

// Prints --list: a line for each column with its name, unit, total, and the total for people.
void list_profile(std::ostream& out, const Profile& profile);

// What --from takes.
std::vector<NameTable> input_formats();

}  // namespace memflame
