// SPDX-License-Identifier: BSD-2-Clause
// The palette files of this folder, as bytes of the program. render/picture/palette.h reads them.
#pragma once

#include <span>

#include "core/embedded_file.h"

namespace memflame {

std::span<const EmbeddedFile> embedded_palettes();

}  // namespace memflame
