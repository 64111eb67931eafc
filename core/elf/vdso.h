// SPDX-License-Identifier: BSD-2-Clause
// The vdso: code that the kernel maps into every process, the same in all 64-bit ones.
#pragma once

#include "core/elf/image.h"

namespace memflame {

// The image in our own process; empty when there is none.
Bytes vdso_image();

}  // namespace memflame
