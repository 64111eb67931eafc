// SPDX-License-Identifier: BSD-2-Clause
// What a picture looks like, as options say it.
#pragma once

#include <boost/program_options.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/profile.h"
#include "render/options.h"
#include "render/transform.h"

namespace memflame {

// With `own_sort`, --sort is an option of the command's own.
void add_looks(boost::program_options::options_description& options, bool own_sort);

// Throws Error (usage) when a word or a number is none that an option takes.
void take_looks(const boost::program_options::variables_map& values, RenderOptions& render,
                bool own_sort);
// The names of those that were given.
std::vector<std::string> looks_given(const boost::program_options::variables_map& values);
// Throws Error (usage) when that is asked for where there is none.
void refuse_order_of_time(const RenderOptions& render, const std::string& why);
Transform transform_of(const boost::program_options::variables_map& values);

// Says which of those that were given mean nothing for a format.
void warn_of_unused_looks(const boost::program_options::variables_map& values,
                          std::string_view format);

// Figures and stacks as options want them, whatever they are written as; what could not be done is
// said on standard error.
Profile prepared(Profile profile, const Transform& transform, const RenderOptions& render);

// Adds colours of new names to the file that keeps them. Throws Error.
void keep_colours(const Profile& profile, const RenderOptions& render);

}  // namespace memflame
