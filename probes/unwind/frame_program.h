// SPDX-License-Identifier: BSD-2-Clause
// The programs in CIEs and FDEs (DWARF 5 section 6.4.2), and the rows they make.
#pragma once

#include "probes/unwind/eh_frame.h"

namespace memflame::unwind {

// Registers of x86-64 in DWARF's numbering (System V ABI, figure 3.36).
constexpr uint64_t dwarf_rbx = 3, dwarf_rbp = 6, dwarf_rsp = 7, dwarf_rip = 16;

// Runs the program of a CIE. False if it is malformed.
bool run_initial(const Cie& cie, const FrameSection& section, ByteCursor in, FrameState& state);

row make_row(const FrameState& state, bool signal);

}  // namespace memflame::unwind
