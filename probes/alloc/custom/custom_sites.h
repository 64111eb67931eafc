// SPDX-License-Identifier: BSD-2-Clause
// Finds the declared functions in the target's files.
//
// The code that attaches calls find_custom() once per file, and require_custom() after the last
// one, which throws if a declaration matches nothing, or more than one thing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "probes/alloc/custom/custom.h"
#include "probes/alloc/finding/allocators.h"

namespace memflame {

// One function of a file that a declaration matches.
struct CustomHit {
  const CustomFunction* declared = nullptr;
  std::string name;  // as the file has it
  uint64_t address = 0;
  uint64_t offset = 0;
  uint64_t size = 0;    // 0 when it is not known
  std::string problem;  // why it cannot be probed; empty if it can
  size_t copies = 0;    // that the compiler has made of it elsewhere in the file, when that is why
};

// The declared functions of one file.
struct CustomFile {
  std::string path;
  uint64_t device = 0, inode = 0;
  std::vector<CustomHit> hits;
  // Sites of those that can be probed, by the contract of allocators.h; the allocator is the file.
  // A declared address takes precedence over one that find_allocator() finds there.
  AllocatorProbes probes;
};

// `custom` is kept in the result's hits.
CustomFile find_custom(const CustomFunctions& custom, int fd, const FindOptions& options);

struct CandidateFile {
  int fd = -1;
  std::string path;
};

// Throws Error: a declared function that is in none of the files (with similar names), that is
// several ones, or that cannot be probed. `files` are those examined.
void require_custom(const CustomFunctions& custom, std::span<const CustomFile> found,
                    std::span<const CandidateFile> files);

// Whether FILE of a declaration matches a file.
bool means_file(const std::string& pattern, int fd, const std::string& path);

// "+0x1a40", as a declaration has it.
std::string hex_offset(uint64_t offset);

// How much a name differs from the wanted one; none if they are not similar.
std::optional<size_t> name_distance(std::string_view wanted, std::string_view name);

}  // namespace memflame
