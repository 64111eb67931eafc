// SPDX-License-Identifier: BSD-2-Clause
#include "sampling.h"

#include "distance.h"
#include "sys.h"

namespace memflame::inside {

Sampling sampling;
// A forked child has its parent's blocks, so these are not zeroed.
uint64_t block_cells[(all_cells + 1) / 16] = {full_cell};
alignas(64) uint64_t block_places[bucket_places << bucket_bits];
uint32_t lost_blocks;
__thread uint64_t countdown __attribute__((tls_model("initial-exec")));
__thread uint64_t outer_call __attribute__((tls_model("initial-exec")));

namespace {

bool has_blocks;  // ever
uint64_t runs;

__thread uint64_t random_state __attribute__((tls_model("initial-exec")));

uint64_t drawn() {
  random_state = next_state(random_state);
  return distance(random_state, sampling.mean);
}

// No two threads, and no child and its parent, draw the same numbers.
void seed() {
  const uint64_t place = reinterpret_cast<uint64_t>(&random_state) ^ uint64_t { here->index } << 48;
  random_state = stirred(stirred(random_state ^ place) ^ ticks()) | 1;
}

}  // namespace

bool begin_sampling(uint64_t wanted, bool forked) {
  const uint64_t mean = wanted < most_mean ? wanted : most_mean;
  if (syscall6(__NR_madvise, as_word(&sampling), sizeof(sampling), advise_wipeonfork) != 0)
    return false;
  if (!forked && has_blocks) {  // of an earlier run
    for (uint64_t& place : block_places) store(place, 0);
    store(lost_blocks, 0);
  }
  store(sampling.mean, mean);
  store(sampling.keeps_all, mean == 0);
  store(sampling.cell_mask, mean == 0 ? 0 : all_cells);
  store(sampling.run, mean == 0 ? 0 : (runs++ % 0xffff + 1) * most_distance);
  return true;
}

bool is_chosen_slowly(size_t size, uint64_t sp) {
  if (begin_process() == nullptr || sampling.keeps_all != 0) return true;
  const bool has_drawn = (countdown ^ sampling.run) < most_distance;
  if (!has_drawn) {
    seed();
    countdown = sampling.run | drawn();
  }
  if (passes(size)) return false;
  countdown = sampling.run | drawn();
  // The call that this one serves was passed over: it had its chance. Where it was left by a
  // longjmp(), the stack has been taken up to somewhere above it.
  if (sp >= outer_call) outer_call = 0;
  return outer_call == 0;
}

bool is_known_slowly(uint64_t address) {
  if (begin_process() == nullptr) return true;
  if (sampling.keeps_all == 0)
    return take_from(blocks, address) || count_in(blocks, cell_of(address)) == full_cell;
  if (load(lost_blocks) == 0 || !take_from(blocks, address)) return true;
  add(lost_blocks, ~uint32_t{0});
  return false;
}

void note_block_slowly(uint64_t address, bool is_recorded) {
  store(has_blocks, true);
  if (sampling.keeps_all == 0) {
    if (is_recorded) put_in(blocks, address);
  } else if (is_recorded) {
    is_known_slowly(address);  // one that was lost had this address, and was freed unseen
  } else if (put_in(blocks, address)) {
    add(lost_blocks, 1U);
  }
}

}  // namespace memflame::inside
