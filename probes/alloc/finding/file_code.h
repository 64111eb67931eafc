// SPDX-License-Identifier: BSD-2-Clause
// The code of an ELF file's functions: where they end, and where their jumps go.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/elf/image.h"
#include "probes/alloc/finding/code.h"
#include "probes/alloc/finding/site.h"

namespace memflame {

// Where a jump or a call goes.
struct Destination {
  enum Kind : uint8_t { none, known, other_file, computed };
  Kind kind = none;
  uint64_t address = 0;   // known
  std::string_view name;  // if it goes through the linkage table, even if its address is known
};

// A function with all the code that its jumps (not its calls) lead to: parts that the compiler
// moved away (foo.cold), and functions that it tail-calls.
struct Body {
  std::vector<Instruction> code;  // piece by piece, the function's own first
  std::string gap;                // why it is incomplete; empty if it is whole
};

class FileCode {
 public:
  // `image` and `elf` must outlive this object.
  FileCode(const ImageBytes& image, const ElfImage& elf, bool long_nops);

  // `size` 0: take the size from the unwind data. Jumps to one of `ends` (sorted) are not followed.
  Body body(uint64_t address, uint64_t size, const std::vector<uint64_t>& ends);
  // The size of the function that begins here, from the unwind data; 0: unknown.
  uint64_t size_at(uint64_t address);
  // Where a jump or a call goes, also through the file's own linkage table.
  Destination destination(const Instruction& instruction);

  // Whether the file's own calls of this function go through its linkage table, so that another
  // file can replace the function.
  bool is_linked(uint64_t address);
  // Where direct calls of this function return to.
  std::vector<uint64_t> direct_calls(uint64_t address) const;

  // The offset in the file; UINT64_MAX if the address is not code.
  uint64_t offset_of(uint64_t address) const;

  // choose_site() for the function at this address. `arguments`: bit n for argument n + 1.
  Site site(uint64_t address, uint64_t size, uint8_t arguments);

  // Whether the instruction at this address is one that kernels turn into a call
  // (Instruction::becomes_call), in a function that may keep data in its red zone there.
  bool call_may_overwrite(uint64_t address);

 private:
  struct Extent {
    uint64_t start = 0, end = 0;
  };
  struct Link {
    std::string name;
    uint64_t address = 0;  // 0: in another file
  };

  const std::vector<Extent>& extents();
  std::optional<Extent> extent_of(uint64_t address);
  const std::vector<Instruction>& decoded(Extent extent);
  const Link* link_at(uint64_t slot);
  uint64_t slot_of_stub(uint64_t address);
  void read_links();

  const ImageBytes& image_;
  const ElfImage& elf_;
  bool long_nops_;
  std::optional<std::vector<Extent>> extents_;  // from the unwind data, sorted
  std::optional<std::unordered_map<uint64_t, Link>> links_;
  std::unordered_map<uint64_t, uint64_t> stubs_;
  std::map<std::pair<uint64_t, uint64_t>, std::vector<Instruction>> decoded_;
  size_t decoded_count_ = 0;
};

}  // namespace memflame
