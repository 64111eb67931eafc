// SPDX-License-Identifier: BSD-2-Clause
// Recognises functions compiled by Go. They must never get a return probe: the runtime walks its
// own stacks, meets the kernel's trampoline and ends the program ("unexpected return pc"). A return
// probe would also mean nothing, because a goroutine may return on another thread and on a stack
// that was moved.
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

// Reads the file at the first call of contains(). The constructor's arguments must outlive it.
class GoCode {
 public:
  GoCode(const ImageBytes& image, const ElfImage& elf) : image_(image), elf_(elf) {}

  // Whether the function at this address is Go's. In a file with Go's tables every function is,
  // unless .eh_frame describes it: C compilers write .eh_frame, Go's compiler does not.
  bool contains(uint64_t address);

 private:
  const ImageBytes& image_;
  const ElfImage& elf_;
  std::optional<bool> is_go_;
  std::vector<std::pair<uint64_t, uint64_t>> others_;  // start and end of other functions; sorted
};

// Whether the file has Go code: by its sections, its build id note or, without section headers, by
// the tables that the runtime itself needs.
bool has_go_code(const ImageBytes& image, const ElfImage& elf);

// The instruction that every call of a Go function passes once, with its arguments in registers. It
// is behind the check for stack space: a function begins again after its stack was moved. Empty if
// the code does not tell.
std::optional<uint64_t> go_entry(FileCode& code, uint64_t address, uint64_t size);

}  // namespace memflame
