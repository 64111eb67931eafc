// SPDX-License-Identifier: BSD-2-Clause
// What /proc/meminfo says about the kernel's own memory.
#pragma once

#include <cstdint>
#include <string_view>

namespace memflame {

// In bytes; what the kernel does not state is 0.
struct KernelMemory {
  int64_t free = 0;
  int64_t slab = 0;  // reclaimable and not
  int64_t percpu = 0;
  int64_t vmalloc = 0;
};

KernelMemory parse_meminfo(std::string_view text);

}  // namespace memflame
