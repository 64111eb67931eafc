// SPDX-License-Identifier: BSD-2-Clause
// Finds the functions that allocate and free blocks by the symbols of a file.
#pragma once

#include <string>
#include <vector>

#include "core/elf/image.h"
#include "probes/alloc/finding/allocators.h"

namespace memflame {

// One function, with all its names.
struct BlockFunction {
  std::string name;
  uint64_t address = 0, size = 0;  // link-time; size 0: unknown
  bpf::call_shape shape{};         // `allocator` is an index in BlockFunctions::allocators
  bool throws = false, aligned = false;
  bool cxx = false;  // one of its names is operator new or delete

  bool allocates() const { return shape.action == bpf::action_allocate; }
};

struct CodeRange {
  uint64_t start = 0, end = 0;
};

struct BlockFunctions {
  std::vector<BlockFunction> functions;
  std::vector<std::string> allocators;
  // There is no malloc, only operator new and delete.
  bool operators_only = false;
  std::string where;                // where the symbols are from; "" for the file itself
  std::vector<CodeRange> own_code;  // the code of own_functions() (allocator_names.h)
};

// Functions with the same prefix are one allocator, which counts only if it both allocates and
// frees. Empty if the file has no such allocator.
BlockFunctions find_candidates(int fd, const ImageBytes& image, const ElfImage& elf,
                               const FindOptions& options);

// Whether this is the name of a function that allocates or frees blocks, in any file.
bool is_allocator_name(std::string_view name);

}  // namespace memflame
