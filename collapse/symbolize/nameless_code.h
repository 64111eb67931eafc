// SPDX-License-Identifier: BSD-2-Clause
// Advice on code that was made at run time and has no name.
#pragma once

#include <string>
#include <vector>

#include "core/recording.h"

namespace memflame {

// One sentence for each runtime whose processes have such frames, if more than a tenth of all user
// frames have no name for that reason; every event counts with its stack. Java is always mentioned,
// since its stacks mostly end in the first such frame. For recordings that were symbolized.
std::vector<std::string> advice_on_nameless_code(const Recording& recording);

}  // namespace memflame
