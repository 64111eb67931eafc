// SPDX-License-Identifier: BSD-2-Clause
// How text for a terminal has to look.
#pragma once

#include <boost/program_options.hpp>
#include <string>
#include <string_view>

#include "render/output.h"
#include "render/picture/options.h"

namespace memflame {

// Whether the environment says that text is UTF-8.
bool locale_is_utf8();

// For text in cells: --width in columns, else the terminal's, else 100; colours if standard
// output, as which `path` is written, is a terminal that has them. Other formats stay as they are.
// Throws Error (usage).
void fit_terminal(const boost::program_options::variables_map& values, const Output& output,
                  const std::string& path, RenderOptions& render);

}  // namespace memflame
