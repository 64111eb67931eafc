// SPDX-License-Identifier: BSD-2-Clause
// Random distances between the marks of sampling. Plain integers: the agent has no mathematical
// library.
#pragma once

#include <stdint.h>  // NOLINT(modernize-deprecated-headers): the agent has no C++ library

namespace memflame::inside {

__extension__ using Wide = unsigned __int128;

// The next state of a random generator: xorshift64 (Marsaglia 2003). Neither is 0.
inline uint64_t next_state(uint64_t state) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^ state << 17;
}

// Spreads each bit of a word over all others (the finaliser of MurmurHash3).
inline uint64_t stirred(uint64_t word) {
  word = (word ^ word >> 33) * 0xff51afd7ed558ccd;
  word = (word ^ word >> 33) * 0xc4ceb9fe1a85ec53;
  return word ^ word >> 33;
}

constexpr int log_bits = 56;  // logarithms are in units of 2^-56

// -log2(random / 2^64): the number of leading zeros, then bit by bit, because squaring a number
// doubles its logarithm. `random` must not be 0. It takes as long as taking a sample, so it
// only makes the table.
constexpr uint64_t minus_log2(uint64_t random) {
  const auto zeros = static_cast<unsigned>(__builtin_clzll(random));
  uint64_t number = random << zeros;  // from 1 to less than 2, in units of 2^-63
  uint64_t logarithm = 0;
  for (int i = 0; i < log_bits; ++i) {
    const Wide square = Wide{number} * number;
    const auto is_two = static_cast<unsigned>(square >> 127);
    number = static_cast<uint64_t>(square >> (63 + is_two));
    logarithm = logarithm << 1 | is_two;
  }
  return (uint64_t{zeros + 1} << log_bits) - logarithm;
}

constexpr uint64_t high_part(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>(Wide{a} * b >> 64);
}

constexpr uint64_t ln2 = 0xb17217f7d1cf79ac;  // in units of 2^-64

// For each of 64 parts of the numbers from 1 to 2: one over its begin, in units of 2^-63, rounded
// up, and the natural logarithm of that, negated. A number times its part's inverse is 1 to 1 +
// 1/64.
struct LogTable {
  static constexpr unsigned part_bits = 6, terms = 8;
  uint64_t inverse[1U << part_bits];
  uint64_t logarithm[1U << part_bits];
  uint64_t one_over[terms];  // 1 to 8, in units of 2^-64
};

constexpr LogTable log_table() {
  LogTable table{};
  constexpr uint64_t parts = 1U << LogTable::part_bits;
  for (uint64_t i = 0; i < parts; ++i) {
    const Wide begin = parts + i;
    table.inverse[i] = static_cast<uint64_t>(((Wide{parts} << 63) + begin - 1) / begin);
    table.logarithm[i] = high_part(minus_log2(table.inverse[i]) - (1ULL << log_bits), ln2);
  }
  for (uint64_t i = 0; i < LogTable::terms; ++i) table.one_over[i] = UINT64_MAX / (i + 1);
  return table;
}
inline constexpr LogTable logarithms = log_table();

// -ln(random / 2^64), within a few units for each factor of two. `random` must not be 0.
inline uint64_t minus_ln(uint64_t random) {
  const auto zeros = static_cast<unsigned>(__builtin_clzll(random));
  const uint64_t number = random << zeros;  // as above
  const auto part = static_cast<unsigned>(number >> (63 - LogTable::part_bits)) &
                    ((1U << LogTable::part_bits) - 1);
  // ln(1 + z) = z - z^2/2 + z^3/3 …, for z in units of 2^-64.
  const auto z = static_cast<uint64_t>(Wide{number} * logarithms.inverse[part] >> 62);
  uint64_t sum = logarithms.one_over[LogTable::terms - 1];
  for (unsigned i = LogTable::terms - 1; i-- > 0;) sum = logarithms.one_over[i] - high_part(z, sum);
  const uint64_t below = logarithms.logarithm[part] + (high_part(z, sum) >> (64 - log_bits));
  const uint64_t most = (zeros + 1) * (ln2 >> (64 - log_bits));
  return most > below ? most - below : 0;  // which rounds to less than nothing near 2^64
}

// Bytes from one mark to the next: exponentially distributed, rounded up. So a block of `size`
// bytes reaches the mark with probability 1 - exp(-size / mean), wherever it begins. At most 45
// times the mean, which is at most 2^30.
inline uint64_t distance(uint64_t random, uint64_t mean) {
  return static_cast<uint64_t>(Wide{minus_ln(random | 1)} * mean >> log_bits) + 1;
}

}  // namespace memflame::inside
