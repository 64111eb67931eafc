// SPDX-License-Identifier: BSD-2-Clause
// What the program that lists processes sends to user space. Plain C.
#pragma once

#include "../bpf/shared.h"

#ifdef __cplusplus
namespace memflame::bpf {
#endif

// One for each process of the reader's PID namespace.
struct pid_row {
  u32 initial;        // its number in the initial namespace
  u32 own;            // and in the reader's; 0 if it has ended meanwhile
  u32 level;          // of the reader's namespace; 0 = the initial one
  u32 pid_namespace;  // its inode
};

#ifdef __cplusplus
}  // namespace memflame::bpf
#endif
