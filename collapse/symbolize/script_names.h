// SPDX-License-Identifier: BSD-2-Clause
// Names of functions of interpreted languages, which a recording has in its own table.
#pragma once

#include "core/recording.h"

namespace memflame {

// "resize (thumb.py:12)": the function, its file without folders, and the line that runs.
Symbol script_symbol(const Recording& recording, const Pc& pc);

}  // namespace memflame
