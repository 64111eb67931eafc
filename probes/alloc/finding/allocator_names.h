// SPDX-License-Identifier: BSD-2-Clause
// Names of functions that allocate and free blocks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "probes/alloc/bpf/call_shape.h"

namespace memflame {

struct AllocatorFunction {
  std::string_view name;  // without prefix
  bpf::call_shape shape;
  bool throws = false;   // a C++ exception may leave it
  bool aligned = false;  // takes an alignment, or has one of its own
};

// A function by its full name.
struct NamedFunction {
  std::string name;
  // Functions of one group belong to one allocator, as far as names tell: malloc and free with the
  // same prefix. Index of a prefix; 0 means no prefix, and operator new and delete.
  uint32_t group = 0;
  AllocatorFunction function;
};

// All names to look for; if a function has several, the first in this order is shown.
std::vector<NamedFunction> allocator_functions(const std::string& symbols_prefix);

// Functions that matter only because they identify the allocator.
struct AllocatorMark {
  std::string_view name;
  std::string_view allocator;
};
const std::vector<AllocatorMark>& allocator_marks();

// Functions of allocators that free blocks without a request by the program.
std::span<const std::string_view> own_functions();

// The allocator of a prefix, "" for that of the file; `group` as above.
std::string_view allocator_of_group(uint32_t group);

}  // namespace memflame
