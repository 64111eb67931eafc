// SPDX-License-Identifier: BSD-2-Clause
// Source lines of Ruby functions, from a table that probes/languages/ruby/lines.h makes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace memflame {

// Adds that the line holds from this place on, which is behind all places in the table.
void add_ruby_line(std::string& table, uint32_t place, uint32_t line);

// The line at a place, which is a number of words in the function's code, behind the instruction
// that runs. 0: the table does not say.
uint32_t ruby_line(std::string_view table, uint32_t first_line, uint32_t place);

}  // namespace memflame
