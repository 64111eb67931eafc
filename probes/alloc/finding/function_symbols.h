// SPDX-License-Identifier: BSD-2-Clause
// The symbols of an ELF file that a declared function can match, and why some cannot be probed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace memflame {

struct FunctionSymbol {
  std::string_view name;  // without @VERSION
  uint64_t address = 0;   // link-time
  uint64_t offset = 0;    // in the file
  uint64_t size = 0;
  std::string_view problem;  // why it cannot be probed; empty if it can
};

// Calls `visit` for each defined symbol of .dynsym and .symtab; a symbol in both comes twice.
// Symbols outside of the file are left out. A file that is not x86-64 ELF has none.
void for_each_function(int fd, const std::function<void(const FunctionSymbol&)>& visit);

// The link-time address of the code at an offset in the file; none if it is not code.
std::optional<uint64_t> code_address(int fd, uint64_t offset);

}  // namespace memflame
