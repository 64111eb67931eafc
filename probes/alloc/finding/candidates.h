// SPDX-License-Identifier: BSD-2-Clause
// The functions of a file that allocate and free blocks, by its symbols.
#pragma once

#include <string>
#include <vector>

#include "core/elf/image.h"
#include "probes/alloc/finding/allocators.h"

namespace memflame {

// One function, with all its names.
struct BlockFunction {
  std::string name;
  uint64_t address = 0, size = 0;  // the linker's; size 0: not said
  bpf::call_shape shape{};         // `allocator` is filled in
  bool throws = false, aligned = false;
  bool cxx = false;  // operator new or delete, by one of its names

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
  std::string where;                // of the symbols, if they are not in the file itself
  std::vector<CodeRange> own_code;  // of functions that are an allocator's own, by their names
};

// Empty unless there are functions of both kinds. Functions with the same prefix are one allocator;
// one that only allocates or only frees does not count.
BlockFunctions find_candidates(int fd, const ImageBytes& image, const ElfImage& elf,
                               const FindOptions& options);

// Whether a function of this name allocates or frees blocks, in whatever file.
bool is_allocator_name(std::string_view name);

}  // namespace memflame
