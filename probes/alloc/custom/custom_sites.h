// SPDX-License-Identifier: BSD-2-Clause
// Finds the declared functions in the target's files.
//
// The code that attaches calls find_custom() once per file, and require_custom() after the last
// file: it throws if a declaration matches nothing, or is ambiguous.
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
  uint64_t size = 0;    // 0: unknown
  std::string problem;  // why it cannot be probed; empty if it can
  size_t copies = 0;    // if it was inlined: the number of copies elsewhere in the file
};

// The declared functions of one file.
struct CustomFile {
  std::string path;
  uint64_t device = 0, inode = 0;
  std::vector<CustomHit> hits;
  // The sites of functions that can be probed, by the contract of allocators.h. The allocator is
  // named after the file. A site replaces one that find_allocator() finds at the same address.
  AllocatorProbes probes;
};

// `custom` must outlive the result, whose hits point into it.
CustomFile find_custom(const CustomFunctions& custom, int fd, const FindOptions& options);

struct CandidateFile {
  int fd = -1;
  std::string path;
};

// Throws Error if a declared function is in none of `files` (the message names similar ones), is
// ambiguous, or cannot be probed. `files` are all files that were examined.
void require_custom(const CustomFunctions& custom, std::span<const CustomFile> found,
                    std::span<const CandidateFile> files);

// Whether a declaration's FILE matches a file; an empty one and "*" match all.
bool means_file(const std::string& pattern, int fd, const std::string& path);

// "+0x1a40", as in a declaration.
std::string hex_offset(uint64_t offset);

// How much a name differs from the wanted one; none if they are not similar.
std::optional<size_t> name_distance(std::string_view wanted, std::string_view name);

}  // namespace memflame
