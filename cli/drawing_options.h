// SPDX-License-Identifier: BSD-2-Clause
// The look of a picture, as the options define it.
#pragma once

#include <boost/program_options.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/profile.h"
#include "render/output.h"
#include "render/picture/options.h"
#include "render/transform.h"

namespace memflame {

// With `own_sort`, --sort is an option of the command's own.
void add_looks(boost::program_options::options_description& options, bool own_sort);

// Throws Error (usage) if an option does not take this word or number.
void take_looks(const boost::program_options::variables_map& values, RenderOptions& render,
                bool own_sort);
// The names of the options that were given.
std::vector<std::string> looks_given(const boost::program_options::variables_map& values);
// Throws Error (usage) if the order of time is requested but not available.
void refuse_order_of_time(const RenderOptions& render, const std::string& why);
Transform transform_of(const boost::program_options::variables_map& values);

// Warns about given options that mean nothing for a format.
void warn_of_unused_looks(const boost::program_options::variables_map& values,
                          const Output& output);

}  // namespace memflame
