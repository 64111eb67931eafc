// SPDX-License-Identifier: BSD-2-Clause
// Source lines of Python functions, from the table that CPython keeps with their code.
//
// Source: CPython's Objects/locations.md and Include/cpython/code.h, 3.11 to 3.14.
#pragma once

#include <cstdint>
#include <string_view>

namespace memflame {

// The line of an instruction, which is the one with this number among the code's units of two
// bytes. `table`: co_linetable. 0: the table does not say. Bounded whatever the table holds.
uint32_t python_line(std::string_view table, uint32_t first_line, uint32_t place);

}  // namespace memflame
