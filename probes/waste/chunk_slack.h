// SPDX-License-Identifier: BSD-2-Clause
// How much more than it was asked for glibc's malloc gave for blocks: their sizes are in front of
// them, in the process's memory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace memflame {

struct WasteBlock {
  uint64_t address = 0, size = 0;  // size: what was asked for
  uint64_t stack = 0;              // its key
  uint64_t time_ns = 0;            // when it was allocated, if that was asked for
};

// By the word in front of a block; none if glibc's malloc would not have written that for it.
std::optional<uint64_t> slack_of(uint64_t size, uint64_t word);

// The slack of each block; none of those that are gone, or are not glibc's. Nothing if most of what
// was read is not glibc's.
using BlockSlack = std::optional<uint64_t>;
std::vector<BlockSlack> slack_of(pid_t pid, std::span<const WasteBlock> blocks);

}  // namespace memflame
