// SPDX-License-Identifier: BSD-2-Clause
// The code that the kernel maps into every process.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/recording.h"

namespace memflame {

// The vdso as an ELF file. All 64-bit processes of a running kernel have the same, so our own copy
// serves. Empty if there is none.
SharedFd own_vdso();

// The legacy vsyscall page has three entry points at fixed addresses and no symbol table.
inline constexpr uint64_t vsyscall_start = 0xffffffffff600000;
inline constexpr uint64_t vsyscall_end = vsyscall_start + 4096;
std::string_view vsyscall_name(uint64_t address);

}  // namespace memflame
