// SPDX-License-Identifier: BSD-2-Clause
// Functions compiled by Go. They must never get a return probe: the runtime walks its own stacks,
// meets the kernel's trampoline and ends the program ("unexpected return pc"). Nor would the probe
// mean anything, because a goroutine may return on another thread and on a stack that was moved.
//
// Source: runtime/traceback.go, cmd/compile/abi-internal.md and cmd/internal/obj/x86 of Go 1.19.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/elf/image.h"
#include "probes/alloc/finding/file_code.h"

namespace memflame {

// Reads the file on the first question. Both arguments are kept.
class GoCode {
 public:
  GoCode(const ImageBytes& image, const ElfImage& elf) : image_(image), elf_(elf) {}

  // Whether the function at this address is Go's. In a file with Go's tables every function is,
  // unless .eh_frame describes it: C compilers write one, Go's writes none.
  bool contains(uint64_t address);

 private:
  const ImageBytes& image_;
  const ElfImage& elf_;
  std::optional<bool> is_go_;
  std::vector<std::pair<uint64_t, uint64_t>> others_;  // start and end of what is not Go's; sorted
};

// Whether the file has code of Go, by its sections, its build id note or, without section headers,
// by the tables that the runtime itself needs.
bool has_go_code(const ImageBytes& image, const ElfImage& elf);

// The place where a Go function has its arguments and which every call passes once: after the check
// for stack space, as a function begins again after its stack was moved. Empty if that cannot be
// told.
std::optional<uint64_t> go_entry(FileCode& code, uint64_t address, uint64_t size);

}  // namespace memflame
