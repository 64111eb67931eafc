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

// -log2(random / 2^64), in units of 2^-48: the number of leading zeros, then bit by bit, because
// squaring a number doubles its logarithm. `random` must not be 0.
inline uint64_t minus_log2(uint64_t random) {
  constexpr int bits = 48;
  const auto zeros = static_cast<unsigned>(__builtin_clzll(random));
  uint64_t number = random << zeros;  // from 1 to less than 2, in units of 2^-63
  uint64_t logarithm = 0;
  for (int i = 0; i < bits; ++i) {
    const Wide square = Wide{number} * number;
    const auto is_two = static_cast<unsigned>(square >> 127);
    number = static_cast<uint64_t>(square >> (63 + is_two));
    logarithm = logarithm << 1 | is_two;
  }
  return (uint64_t{zeros + 1} << bits) - logarithm;
}

// Bytes from one mark to the next: exponentially distributed, rounded up. So a block of `size`
// bytes reaches the mark with probability 1 - exp(-size / mean), wherever it begins. At most 45
// times the mean, which is at most 2^30.
inline uint64_t distance(uint64_t random, uint64_t mean) {
  constexpr uint64_t ln2 = 0xb17217f7d1cf79ac;  // in units of 2^-64
  const auto times = static_cast<uint64_t>(Wide{minus_log2(random | 1)} * ln2 >> 64);
  return static_cast<uint64_t>(Wide{times} * mean >> 48) + 1;
}

}  // namespace memflame::inside
