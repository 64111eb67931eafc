// SPDX-License-Identifier: BSD-2-Clause
// Recordings of blocks, as memflame leaks judges them.
#pragma once

#include <string>

#include "core/history.h"

namespace memflame {

// With names. Throws Error, in the name of the option, if the file is not a recording of blocks.
History read_blocks(const std::string& option, const std::string& path);

}  // namespace memflame
