// SPDX-License-Identifier: BSD-2-Clause
// Source lines of Java's methods.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace memflame {

// A table of lines: for each entry the place in the bytecode and the line that begins there, as
// numbers of two bytes.
void add_java_line(std::string& table, uint32_t place, uint32_t line);

// The line of a place, or of the first entry if the place is script_no_place. 0: the table does
// not say.
uint32_t java_line(std::string_view table, uint32_t place);

// Turns HotSpot's compressed table into one of the form above. `lowest`: the lowest byte of a
// number, which is 1 since JDK 20. Bounded whatever the table holds.
//
// Source: OpenJDK's src/hotspot/share/code/compressedStream.hpp, utilities/unsigned5.hpp, and
// Method::line_number_from_bci().
std::string java_lines(std::string_view compressed, uint32_t lowest);

}  // namespace memflame
