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

__thread uint64_t chosen_mean __attribute__((tls_model("initial-exec")));

namespace {

bool has_blocks;  // ever
uint64_t runs;

__thread uint64_t random_state __attribute__((tls_model("initial-exec")));
// What the countdown was drawn by.
__thread uint64_t drawn_mean __attribute__((tls_model("initial-exec")));
// The countdown ends before the mark, whose place is drawn then.
__thread bool ends_before_mark __attribute__((tls_model("initial-exec")));

uint64_t drawn(uint64_t mean) {
  random_state = next_state(random_state);
  return distance(random_state, mean);
}

// No two threads, and no child and its parent, draw the same numbers.
void seed() {
  const uint64_t place = reinterpret_cast<uint64_t>(&random_state) ^ uint64_t { here->index } << 48;
  random_state = stirred(stirred(random_state ^ place) ^ ticks()) | 1;
}

uint64_t next_run() { return (add(runs, 1) % 0xffff + 1) * most_distance; }

// Whether memflame has changed the mean. Two threads may notice at once: then both countdowns of
// the others are invalid, and whichever mean stays is compared again.
bool follow_mean() {
  const uint64_t wanted = load(here->control->sample_bytes);
  if (wanted == load(sampling.mean) || wanted == 0 || wanted > most_mean) return false;
  store(sampling.mean, wanted);
  store_release(sampling.run, next_run());
  return true;
}

void count_down(uint64_t bytes) {
  ends_before_mark = bytes > most_blind;
  countdown = load_acquire(sampling.run) | (ends_before_mark ? most_blind : bytes);
}

// What is longer than this has waited for memflame, or had no processor.
void add_cost(uint64_t began) {
  const uint64_t took = ticks() - began, most = timing.ticks_per_ms / 20;
  add(here->process->sample_ticks, took < most ? took : most);
}

// Whether the thread's mark is in the block, and by which mean that was drawn. Draws what is needed
// to know, and counts on from there.
bool has_mark(size_t size) {
  const uint64_t left = countdown ^ sampling.run;
  const bool is_new = left >= most_distance;
  if (!is_new && size < left) {
    countdown -= size;
    return false;
  }
  if (is_new) {
    seed();
    follow_mean();
    drawn_mean = load(sampling.mean);
  }
  const uint64_t mean = drawn_mean, rest = is_new ? size : size - left;
  // How much further the mark is; 0 = it was reached.
  const uint64_t further = is_new || ends_before_mark ? drawn(mean) : 0;
  const bool is_reached = rest >= further;
  const bool has_changed = follow_mean();
  drawn_mean = load(sampling.mean);
  count_down(is_reached || has_changed ? drawn(drawn_mean) : further - rest);
  // A call in a signal handler leaves what it interrupted alone.
  if (is_reached && (self == nullptr || load(self->phase) <= phase_idle)) {
    chosen_mean = mean;
    if (self != nullptr && self->told_mean != mean) self->lost |= mean_untold;
  }
  return is_reached;
}

}  // namespace

bool begin_sampling(uint64_t wanted, bool forked) {
  const uint64_t mean = wanted < most_mean ? wanted : most_mean;
  if (!forked &&
      syscall6(__NR_madvise, as_word(&sampling), sizeof(sampling), advise_wipeonfork) != 0)
    return false;
  if (!forked && has_blocks) {  // of an earlier run
    for (uint64_t& place : block_places) store(place, 0);
    store(lost_blocks, 0);
  }
  store(sampling.mean, mean);
  store(sampling.keeps_all, mean == 0);
  store(sampling.cell_mask, mean == 0 ? 0 : all_cells);
  store(sampling.run, mean == 0 ? 0 : next_run());
  return true;
}

bool is_chosen_slowly(size_t size, uint64_t sp) {
  if (begin_process() == nullptr || sampling.keeps_all != 0) return true;
  const uint64_t began = ticks();
  const bool is_chosen = has_mark(size);
  add_cost(began);
  if (!is_chosen) return false;
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

void note_block_slowly(uint64_t address, bool is_recorded, uint64_t began) {
  store(has_blocks, true);
  if (sampling.keeps_all == 0) {
    if (is_recorded) put_in(blocks, address);
    if (began != 0) add_cost(began);
  } else if (is_recorded) {
    is_known_slowly(address);  // one that was lost had this address, and was freed unseen
  } else if (put_in(blocks, address)) {
    add(lost_blocks, 1U);
  }
}

}  // namespace memflame::inside
