// SPDX-License-Identifier: BSD-2-Clause
// Finds the probes that a program with a sampling allocator offers for its own blocks:
// otel_memory:alloc(ptr, size, weighted_bytes) and otel_memory:free(ptr).
//
// They are notes in the ELF file (section .note.stapsdt): each has the address of a nop and, in
// assembler syntax, the places of the arguments. The notes may hold anything; nothing is thrown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probes/alloc/bpf/usdt_site.h"

namespace memflame {

struct UsdtNote {
  std::string provider, name;
  std::string arguments;             // "8@%rdi -4@$16 8@-24(%rbp)"
  uint64_t address = 0, offset = 0;  // of the nop, and in the file
  uint64_t counter = 0;              // of the semaphore, in the file; 0 = none
};

// The notes of one provider whose nop lies in code, at most bpf::max_usdt_sites.
std::vector<UsdtNote> usdt_notes(int fd, std::string_view provider);

// Parses one argument, like "8@%rdi". Empty if BPF cannot read it: a floating-point value, or a
// variable's name.
std::optional<bpf::usdt_argument> parse_usdt_argument(std::string_view text);

struct UsdtSite {
  uint64_t offset = 0;
  uint64_t counter = 0;
  bpf::usdt_site site{};
};

struct UsdtPair {
  std::vector<UsdtSite> alloc, free;
  // For -v: why the probes cannot be used. A single unusable probe makes the whole pair unusable.
  std::vector<std::string> problems;
  // Probes, by name and place, whose nop a kernel may turn into a call that overwrites data of the
  // function (Instruction::becomes_call).
  std::vector<std::string> overwriting;

  bool offered() const { return !alloc.empty() && !free.empty(); }
};

UsdtPair find_usdt_pair(int fd);

}  // namespace memflame
