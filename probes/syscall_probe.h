// SPDX-License-Identifier: BSD-2-Clause
// Attaches probes to system calls. Classic tracepoints cost only the processes that make these
// calls, but need tracefs. Without tracefs the raw tracepoints are used, which every system call on
// the machine passes.
#pragma once

#include <span>

#include "probes/bpf/shared.h"

namespace memflame {

class BpfObject;
struct LoadedProbe;

// Keeps one of the two pairs of programs memflame_enter/_leave and memflame_raw_enter/_leave.
void choose_syscall_programs(bpf::config& config, BpfObject& object);

// Attaches that pair to the calls of these names ("brk"). The programs on exits come first: they
// ignore calls whose entry was not seen.
void attach_syscalls(LoadedProbe& probe, std::span<const char* const> calls);

}  // namespace memflame
