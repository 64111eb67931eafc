// SPDX-License-Identifier: BSD-2-Clause
// What gcc puts into every program and library (crtstuff.c of libgcc) and distributions build
// without FDEs: deregister_tm_clones, register_tm_clones, __do_global_dtors_aux and frame_dummy,
// one behind the other. It is known by its bytes: each instruction is one whose effect on the stack
// is known, and each way leads to an end.
#pragma once

#include <cstdint>
#include <vector>

#include "probes/unwind/elf_image.h"
#include "probes/unwind/linker_code.h"

namespace memflame::unwind {

// Those of them that lie in this code, sorted; nothing when __do_global_dtors_aux does not, or is
// not as expected. `address`: of the first byte.
std::vector<KnownCode> startup_code(Bytes code, uint64_t address);

}  // namespace memflame::unwind
