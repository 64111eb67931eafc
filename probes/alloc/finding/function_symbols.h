// SPDX-License-Identifier: BSD-2-Clause
// All symbols of an ELF file that a declared function can match, and what is wrong with the others.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace memflame {

struct FunctionSymbol {
  std::string_view name;  // without @VERSION
  uint64_t address = 0;   // as the file has it
  uint64_t offset = 0;    // in the file
  uint64_t size = 0;
  std::string_view problem;  // why it cannot be probed; empty when it can
};

// Calls `visit` for each defined symbol of .dynsym and .symtab, some of them twice. Symbols outside
// of the file are left out, as is everything in a file that is not x86-64 ELF.
void for_each_function(int fd, const std::function<void(const FunctionSymbol&)>& visit);

// Where the code at an offset in the file is mapped, as the file says; none for what is not code.
std::optional<uint64_t> code_address(int fd, uint64_t offset);

}  // namespace memflame
