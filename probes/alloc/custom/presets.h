// SPDX-License-Identifier: BSD-2-Clause
// The files of presets/, embedded in the program. preset.cc reads them.
#pragma once

#include <span>

#include "core/embedded_file.h"

namespace memflame {

std::span<const EmbeddedFile> embedded_presets();  // each is "NAME.json"

}  // namespace memflame
