// SPDX-License-Identifier: BSD-2-Clause
// The functions that gcc puts into every program and library (crtstuff.c of libgcc) and
// distributions build without FDEs: deregister_tm_clones, register_tm_clones, __do_global_dtors_aux
// and frame_dummy, in this order. They are recognised by their bytes: the effect of each
// instruction on the stack is known, and each path leads to an end.
#pragma once

#include <cstdint>
#include <vector>

#include "core/elf/image.h"
#include "probes/unwind/linker_code.h"

namespace memflame::unwind {

// Those that lie in this code, sorted; empty if __do_global_dtors_aux is missing or has other
// bytes. `address`: of the first byte.
std::vector<KnownCode> startup_code(Bytes code, uint64_t address);

}  // namespace memflame::unwind
