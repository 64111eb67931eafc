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

// A function with its full name, prefix included.
struct NamedFunction {
  std::string name;
  // The index of the prefix. Functions with the same prefix belong to one allocator, as far as
  // names tell. 0: no prefix; operator new and delete are in this group, too.
  uint32_t group = 0;
  AllocatorFunction function;
};

// All names to look for. If one function has several of them, the first in this order is shown.
std::vector<NamedFunction> allocator_functions(const std::string& symbols_prefix);

// A function that is not probed, but identifies the allocator.
struct AllocatorMark {
  std::string_view name;
  std::string_view allocator;
};
const std::vector<AllocatorMark>& allocator_marks();

// Functions of allocators that call free() although the program did not ask for it.
std::span<const std::string_view> own_functions();

// The allocator that a group's prefix names; "" if only the file can tell (allocator_marks()).
std::string_view allocator_of_group(uint32_t group);

}  // namespace memflame
