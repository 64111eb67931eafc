// SPDX-License-Identifier: BSD-2-Clause
// Which unwind row applies to an address.
//
// Rules that were found are kept in one table of the process, 8 bytes each: 32 bits of row and 32
// bits that tell which address it is for. An odd factor maps addresses of 48 bits one to one to
// numbers of 48 bits: 16 of them are the place in the table, the others the tag, so a hit is never
// that of another address. A rule is one aligned word, so threads need no lock: one load for a hit
// (most of all steps), else a bisection of the code list and of the file's rows.
#pragma once

#include "state.h"

namespace memflame::inside {

struct FoundRule {
  unwind::row row;
  uint32_t stop;  // enum stop; stop_end = the row is good
};

FoundRule find_rule(uint64_t address);
// memflame has published another list: forgets what was found in the one before.
void forget_old_list();
inline void follow_list() {
  if (MEMFLAME_UNLIKELY(load_acquire(here->process->generation) != load(here->seen_generation)))
    forget_old_list();
}
// The dynamic linker has unloaded something.
void forget_unloaded(uint64_t unloads);
// Code has been unmapped: forgets all rules, and asks for the mappings before the next look.
void forget_code();

constexpr uint64_t rule_factor = 0x9E3779B97F4A7C15;  // any odd number with well mixed bits

inline uint64_t rule_hash(uint64_t address) { return address * rule_factor & pointer_mask; }

// The row without its pc is the lower half of a Rule, as it lies in memory: put together from parts
// it would be read back before the parts are written, which costs more than the rest of the step.
constexpr Rule kind_bits = 0xff0000;
inline Rule rule_for(uint64_t hash, unwind::row row) {
  row.pc = 0;
  return hash << 32 | __builtin_bit_cast(uint64_t, row) >> 32;
}

inline FoundRule rule_of(uint64_t address) {
  const uint64_t hash = rule_hash(address);
  const Rule rule = load(here->rules[hash >> 32]);
  if (MEMFLAME_LIKELY(rule >> 32 == (hash & 0xffffffff) && (rule & kind_bits) != 0))
    return {__builtin_bit_cast(unwind::row, rule << 32), 0};
  return find_rule(address);
}

}  // namespace memflame::inside
