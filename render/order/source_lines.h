// SPDX-License-Identifier: BSD-2-Clause
// Source lines of frames: a box is a function, so most outputs draw frames that differ only in
// lines as one.
#pragma once

#include "core/profile.h"

namespace memflame {

// Whether any frame has a source file.
bool has_lines(const Profile& profile);

// The same stacks by function, module and kind. Stacks that differ only in source lines become one;
// each of its frames has the file and the line with the most of the shown value.
Profile by_function(const Profile& profile);

// Tells frames apart by line: the name of a function is followed by file name and line if known,
// "parse reader.cc:37". File, line and module stay as they are.
Profile with_lines_in_names(const Profile& profile);

// "reader.cc:37" of "/src/reader.cc", 37; without a line only the file. Not escaped.
std::string short_place(std::string_view file, uint32_t line);

}  // namespace memflame
