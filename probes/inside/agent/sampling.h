// SPDX-License-Identifier: BSD-2-Clause
// Which calls are recorded.
//
// Sampled: marks lie at random in the bytes that a thread allocates, at one per `mean` bytes on
// average, and a block with a mark in it is recorded. Such a Poisson process has no memory, so a
// thread counts down to its next mark, and what is left of that after each block is a valid draw
// for the next one. Otherwise no countdown ever begins, and each call is recorded, by the same
// code.
//
// memflame may change the mean meanwhile. Then each thread draws anew, which needs no memory
// either: a block is chosen by one mean alone, that of the countdown which it began in. The thread
// that notices changes `run`, so that all countdowns of the process become invalid. It looks when
// it takes a sample, and every most_blind bytes.
#pragma once

#include "block_set.h"

namespace memflame::inside {

constexpr uint64_t most_mean = uint64_t{1} << 30, most_distance = uint64_t{1} << 48;
constexpr uint64_t most_blind = uint64_t{16} << 20;

// Alone on a page that the kernel zeroes in a forked child, so that the child draws anew: else all
// children of a process would sample the same blocks.
struct alignas(page) Sampling {
  // Differs in each run of memflame, in each child and for each mean, above the bits of a distance.
  // 0: all calls are recorded, or the process has not joined yet.
  uint64_t run;
  uint64_t mean;
  uint64_t cell_mask;  // all_cells if blocks are sampled, else 0: the first cell is always full
  uint32_t keeps_all;  // it is known that each call is recorded
};

// NOLINTBEGIN(bugprone-dynamic-static-initializers)
extern Sampling sampling;
extern uint64_t block_cells[(all_cells + 1) / 16];
extern uint64_t block_places[bucket_places << bucket_bits];
extern uint32_t lost_blocks;  // those in `blocks`, if each call is recorded
// Bytes to the thread's next mark, and `run` above them; anything else: none was drawn.
extern __thread uint64_t countdown __attribute__((tls_model("initial-exec")));
// The mean by which the thread's last block was chosen.
extern __thread uint64_t chosen_mean __attribute__((tls_model("initial-exec")));
// The stack pointer of a call that was passed over and may call other hooks; 0 = none.
extern __thread uint64_t outer_call __attribute__((tls_model("initial-exec")));
// NOLINTEND(bugprone-dynamic-static-initializers)
constexpr BlockSet blocks{block_cells, block_places};

// The process joins: one mark per `mean` bytes, or 0 for all calls. False if that is not possible.
bool begin_sampling(uint64_t mean, bool forked);

// Whether the thread's next mark is beyond this block; counts the block then.
inline bool passes(size_t size) {
  const uint64_t left = countdown ^ sampling.run;
  if (MEMFLAME_UNLIKELY(size >= left) || MEMFLAME_UNLIKELY(left >= most_distance)) return false;
  countdown -= size;
  return true;
}

// False: the block is not in `blocks`, and that matters.
inline bool may_be_recorded(const void* pointer) {
  const uint64_t cell = cell_of(reinterpret_cast<uint64_t>(pointer)) & sampling.cell_mask;
  return (load(block_cells[cell / 16]) >> cell % 16 * 4 & 15) != 0;
}

bool is_chosen_slowly(size_t size, uint64_t sp);
// Whether a call from this place of the stack is to be recorded. Draws the next mark if so.
inline bool is_chosen(size_t size, uint64_t sp) {
  return MEMFLAME_LIKELY(sampling.keeps_all != 0) || (!passes(size) && is_chosen_slowly(size, sp));
}

bool is_known_slowly(uint64_t address);
// Whether memflame may know the block, so that its free is to be recorded. Takes it out of
// `blocks`.
inline bool is_known(const void* pointer) {
  if (MEMFLAME_LIKELY(sampling.keeps_all != 0) && MEMFLAME_LIKELY(load(lost_blocks) == 0))
    return true;
  return may_be_recorded(pointer) && is_known_slowly(reinterpret_cast<uint64_t>(pointer));
}

// What is_known() has to go by, after the block's record was written, or not. `began`: TSC, when
// recording began; 0 = that is not to be counted.
void note_block_slowly(uint64_t address, bool is_recorded, uint64_t began);
inline void note_block(uint64_t address, bool is_recorded, uint64_t began = 0) {
  if (MEMFLAME_LIKELY(sampling.keeps_all != 0) && MEMFLAME_LIKELY(is_recorded) &&
      MEMFLAME_LIKELY(load(lost_blocks) == 0))
    return;
  note_block_slowly(address, is_recorded, began);
}

}  // namespace memflame::inside
