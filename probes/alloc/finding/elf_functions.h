// SPDX-License-Identifier: BSD-2-Clause
// Finding functions by name in an ELF file, for uprobes.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/elf/image.h"

namespace memflame {

struct ElfFunction {
  std::string name;
  uint64_t offset = 0;   // in the file, as uprobes need it
  uint64_t address = 0;  // link-time
  uint64_t size = 0;     // bytes of code; 0: unknown
  size_t wanted = 0;     // index of the name among those looked for
};

// The names to look for. Attaching waits for the search, and large libraries have 100,000 symbols:
// a bit set of three-letter beginnings excludes nearly all of them without a hash look-up.
class WantedNames {
 public:
  static constexpr size_t none = SIZE_MAX;

  // The texts must outlive this object. The first of equal names counts.
  explicit WantedNames(const std::vector<std::string_view>& names);

  // The index of the name that `rest` begins with; `none` if it is not wanted. The name ends at a
  // zero byte or at its version (malloc@@GLIBC_2.2.5).
  size_t find(std::string_view rest) const;

 private:
  static size_t beginning(std::string_view text);

  std::bitset<size_t{1} << 15> beginnings_;
  std::unordered_map<std::string_view, size_t> indices_;
  size_t longest_ = 0;
};

// The wanted functions that .dynsym and .symtab of `symbols` define. `symbols` is the file itself
// or its separate debug file; the code is in `elf`. Symbols outside of its executable segments are
// left out. No function appears twice.
std::vector<ElfFunction> functions_in(const ImageBytes& symbols, const ElfImage& symbols_elf,
                                      const ElfImage& elf, const WantedNames& wanted);

// The wanted functions that this file defines itself. Version suffixes (@GLIBC_…) are not part of
// names. Empty if it is not an x86-64 ELF file.
std::vector<ElfFunction> find_functions(int fd, const std::vector<std::string_view>& wanted);

}  // namespace memflame
