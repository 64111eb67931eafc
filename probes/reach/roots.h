// SPDX-License-Identifier: BSD-2-Clause
// What a process's memory consists of -> which parts of it are roots. Pure: the facts come as
// values.
//
// LeakSanitizer (compiler-rt, lib/lsan) takes globals, thread-local memory, stacks from the stack
// pointer upwards and registers for roots, and the memory of its own allocator for none. memflame
// knows neither the program's globals nor its allocator, but the mappings and the blocks. So:
//
//   - Roots are all mappings that can be written, and those that can be read and have been written
//     once: pointers that the dynamic linker made read-only (RELRO).
//   - Known blocks are not roots. Neither is the part of a stack below the stack pointer, without
//     the red zone of the x86-64 ABI (128 bytes), nor are the lists of free memory in glibc's main
//     arena: these may point into the block before.
//   - If every block is known, what else the allocator owns holds stale pointers only: [heap], the
//     arenas of glibc, and the pages in which blocks lie. These are not roots then. In data of a
//     file only the blocks themselves are left out, because an allocator may hand out the rest of
//     a page with globals (musl).
//   - Otherwise unknown blocks may lie there and hold the only pointer, so it is a root.
//
// Leaving out too little lets a lost block look reachable; leaving out too much would let a block
// look lost that is not. So what is in doubt stays a root.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "probes/reach/flood.h"
#include "probes/system/procfs.h"

namespace memflame {

inline constexpr uint64_t red_zone = 128;

// A piece of memory with its address.
struct MemoryPiece {
  uint64_t address = 0;
  MemoryWords words;
};

// The unused part of the stack of a thread; none if its extent is not known. `at_fs` is the memory
// from the thread's FS base on: glibc's struct pthread states there where the stack begins and how
// long it is. The main thread's stack is the mapping [stack].
inline constexpr uint64_t pthread_bytes = 0x900;
std::optional<AddressRange> unused_stack(uint64_t sp, MemoryWords at_fs, uint64_t fs_base,
                                         std::span<const MapsLine> maps);

// The lists of free memory in glibc's main arena, if it lies in this piece: fast bins, the top
// chunk, the last remainder and the bins (malloc_state in malloc/malloc.c since 2.26).
std::optional<AddressRange> free_lists(const MemoryPiece& piece);

// If a heap of glibc's other arenas begins here: its extent. `head` are the words of its heap_info
// (malloc/arena.c). Such heaps begin at multiples of arena_alignment.
inline constexpr uint64_t arena_alignment = uint64_t{64} << 20;
std::optional<AddressRange> arena_heap(uint64_t address, MemoryWords head);

struct MemoryFacts {
  std::span<const MapsLine> maps;
  std::span<const KnownBlock> blocks;     // sorted by address
  std::vector<AddressRange> stale;        // unused stacks, lists of free memory
  std::vector<AddressRange> arena_heaps;  // needed only if all blocks are known
  bool all_blocks_known = false;
};
// Sorted, without overlaps.
std::vector<AddressRange> root_ranges(const MemoryFacts& facts);

// Whether the mapping can hold pointers that the program stored.
bool may_hold_pointers(const MapsLine& line);

}  // namespace memflame
