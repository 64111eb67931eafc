// SPDX-License-Identifier: BSD-2-Clause
#include "rules.h"

#include "stops.h"

namespace memflame::inside {
namespace {

constexpr uint32_t first_bits = 32;
constexpr uint32_t code_nap_us = 50;  // memflame answers within some hundreds
constexpr uint32_t naps_before_asking_again = 2000;

const CodeRange* range_of(uint64_t address) {
  const uint64_t code = load_acquire(here->process->code);
  uint64_t low = code & ((uint64_t{1} << first_bits) - 1), high = low + (code >> first_bits);
  if (high > most_code_ranges) return nullptr;
  while (low < high) {
    const uint64_t middle = (low + high) / 2;
    const CodeRange& range = here->ranges[middle];
    if (address < range.start)
      high = middle;
    else if (address >= range.end)
      low = middle + 1;
    else
      return &range;
  }
  return nullptr;
}

// The last row at or before the address. Rows before the first one do not exist: it has pc 0.
FoundRule row_in(const CodeRange& range, uint64_t address) {
  const uint64_t offset = address - range.base;
  if (range.rows == rows_missing) return {{}, stop_no_table};
  if (range.rows == by_frame_pointer) return {{0, 0, unwind::row_fp, 0}, stop_end};
  if (range.first_row > here->row_count || range.rows > here->row_count - range.first_row)
    return {{}, stop_no_table};
  const unwind::row* const rows = here->rows + range.first_row;
  uint32_t low = 0, high = range.rows;
  while (low + 1 < high) {
    const uint32_t middle = (low + high) / 2;
    if (rows[middle].pc <= offset)
      low = middle;
    else
      high = middle;
  }
  return {rows[low], stop_end};
}

// Places for addresses that are in no code: memflame is asked once about each.
uint64_t& unknown_place(uint64_t address) { return here->unknown[rule_hash(address) >> 42]; }

// Asks memflame to read the mappings again, and waits for that. False if it did not answer in time.
// A program that writes over the two numbers may make them say anything: then it is asked again.
bool ask_for_code() {
  Process& process = *here->process;
  uint32_t request = add(process.requests, 1U) + 1;
  for (uint32_t naps = 1; static_cast<int32_t>(load_acquire(process.answered) - request) < 0;
       ++naps) {
    if (!wait_a_little(code_nap_us)) return false;
    if (naps % naps_before_asking_again == 0) request = add(process.requests, 1U) + 1;
  }
  return true;
}

void forget_rules() {
  add(here->generation, 1U);
  for (Rule& rule : here->rules) store(rule, 0);
  for (uint64_t& unknown : here->unknown) store(unknown, 0);
}

}  // namespace

void forget_old_list() {
  const uint64_t generation = load_acquire(here->process->generation);
  forget_rules();
  store(here->seen_generation, generation);
}

// First no thread takes the list for new any more: a rule that is found from now on does not
// belong to the code that went.
void forget_code() {
  add(here->unmaps, 1U);
  forget_rules();
}

void forget_unloaded(uint64_t unloads) {
  forget_code();
  store(here->seen_unloads, unloads);
}

FoundRule find_rule(uint64_t address) {
  if (address > pointer_mask) return {{}, stop_no_mapping};
  // The list counts as new only once memflame has answered: until then each thread asks.
  const uint32_t unmaps = load_acquire(here->unmaps);
  if (MEMFLAME_UNLIKELY(unmaps != load(here->listed_unmaps))) {
    if (!ask_for_code()) return {{}, stop_no_table};
    store(here->listed_unmaps, unmaps);
  }
  follow_list();
  const CodeRange* range = range_of(address);
  if (range == nullptr) {
    uint64_t& unknown = unknown_place(address);
    if (load(unknown) == address) return {{}, stop_no_mapping};
    if (!ask_for_code()) return {{}, stop_no_table};
    follow_list();
    range = range_of(address);
    if (range == nullptr) {
      store(unknown, address);
      return {{}, stop_no_mapping};
    }
  }
  const FoundRule found = row_in(*range, address);
  if (found.stop != stop_end) return found;
  const uint64_t hash = rule_hash(address);
  store(here->rules[hash >> 32], rule_for(hash, found.row));
  return found;
}

}  // namespace memflame::inside
