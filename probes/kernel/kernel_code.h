// SPDX-License-Identifier: BSD-2-Clause
// Finds out for which allocator the kernel's page allocator works. The other allocators get their
// memory from it, so that memory would be counted twice; their functions are in the stack.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/recording.h"

namespace memflame {

enum class MemoryUser : uint8_t { other, slab, percpu, vmalloc };

class KernelCode {
 public:
  // Text in the form of /proc/kallsyms, in any order.
  explicit KernelCode(std::string_view kallsyms);

  // False if the addresses are hidden (kernel.kptr_restrict): then every user is `other`.
  bool is_known() const { return !functions_.empty(); }
  // The innermost allocator in a stack of kernel addresses, leaf first.
  MemoryUser user_of(std::span<const Pc> stack) const;

 private:
  struct Function {
    uint64_t start = 0, end = 0;
    MemoryUser user = MemoryUser::other;
  };
  std::vector<Function> functions_;  // by address
};

}  // namespace memflame
