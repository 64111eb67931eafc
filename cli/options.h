// SPDX-License-Identifier: BSD-2-Clause
// Shared pieces of command line handling.
#pragma once

#include <boost/program_options.hpp>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "render/picture/options.h"

namespace memflame {

// Parses against `visible` and `hidden` options and the named positional ones. Throws Error(usage)
// with a line that says what is wrong, and 'memflame COMMAND --help' as the remedy.
boost::program_options::variables_map parse(
    const std::string& command, const Arguments& arguments,
    const boost::program_options::options_description& visible,
    const boost::program_options::options_description& hidden = {},
    const char* positional = nullptr);

// "svg, folded, json, …"
std::string format_names(std::string_view but = {});

// --help, for commands that watch nothing.
boost::program_options::options_description general_options();

// Options of everything that draws, with the defaults of render/output.h. `formats` is the help of
// --format, if it is not the usual one.
boost::program_options::options_description drawing_options(const std::string& formats = "",
                                                            bool own_sort = false);

// Whether frames are told apart by line: --by-line, or --lines. For commands that draw.
bool wants_lines(const boost::program_options::variables_map& values);

// Whether they are modules: --by-module. Commands without that option never want them.
bool wants_modules(const boost::program_options::variables_map& values);

// The values of the given options. With `own_sort`, --sort is an option of the command's own.
RenderOptions render_options(const boost::program_options::variables_map& values,
                             bool own_sort = false);

// Sets `into` if the option was given.
template <class T>
void take(const boost::program_options::variables_map& values, const char* name, T& into) {
  if (values.count(name) != 0) into = values[name].as<T>();
}

}  // namespace memflame
