// SPDX-License-Identifier: BSD-2-Clause
// Python's functions as memray names them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "collapse/inputs/readers.h"
#include "core/profile.h"

namespace memflame {

// The file is the frame's module, so that functions with one name in two files stay apart.
Frame memray_frame(StringId function, StringId file, int64_t line, const ReadOptions& options);

// "&lt;module&gt;" is <module>.
std::string without_html(std::string_view text);

}  // namespace memflame
