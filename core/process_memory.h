// SPDX-License-Identifier: BSD-2-Clause
// What the kernel says of a process's memory, in bytes; 0 if the process is gone.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace memflame {

// Resident memory without that of files. A process that has just been forked shares it with the
// one that forked it.
uint64_t private_bytes_of(pid_t pid);
// Address space that is private and writable, as RLIMIT_DATA counts it.
uint64_t data_bytes_of(pid_t pid);

}  // namespace memflame
