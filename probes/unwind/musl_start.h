// SPDX-License-Identifier: BSD-2-Clause
// The function of musl that calls main, where the stacks of programs linked with musl begin. musl
// has no FDEs, so the function is found by the bytes that lead to it.
//
// Source: musl 1.2, crt/crt1.c, arch/x86_64/crt_arch.h and src/env/__libc_start_main.c.
#pragma once

#include <optional>

#include "core/elf/image.h"
#include "probes/unwind/linker_code.h"

namespace memflame::unwind {

// libc_start_main_stage2, of the library or of a static program; it has one row, row_end. It is
// entered by a jump, calls main, and passes main's result to exit().
std::optional<KnownCode> musl_start(const ImageBytes& image, const ElfImage& elf);

}  // namespace memflame::unwind
