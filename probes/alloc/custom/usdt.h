// SPDX-License-Identifier: BSD-2-Clause
// The probes that a program offers for its own blocks: otel_memory:alloc(ptr, size, weighted_bytes)
// and otel_memory:free(ptr), from an allocator that samples itself.
//
// They are notes in the ELF file (section .note.stapsdt): the address of a nop and, in assembler
// syntax, where the arguments are. A file may hold anything there; nothing is thrown.
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
  std::string arguments;  // "8@%rdi -4@$16 8@-24(%rbp)"
  uint64_t offset = 0;    // of the nop, in the file
  uint64_t counter = 0;   // of the semaphore, in the file; 0 = none. Not 0 while a probe is there
};

// Those of one provider that lie in code. At most bpf::max_usdt_sites.
std::vector<UsdtNote> usdt_notes(int fd, std::string_view provider);

// One argument, like "8@%rdi"; empty for what BPF cannot read: floating point, names of variables.
std::optional<bpf::usdt_argument> parse_usdt_argument(std::string_view text);

struct UsdtSite {
  uint64_t offset = 0;
  uint64_t counter = 0;
  bpf::usdt_site site{};
};

struct UsdtPair {
  std::vector<UsdtSite> alloc, free;
  // For -v: probes that cannot be used. A pair needs both of its sites, so if one is unusable there
  // are none.
  std::vector<std::string> problems;

  bool offered() const { return !alloc.empty() && !free.empty(); }
};

UsdtPair find_usdt_pair(int fd);

}  // namespace memflame
