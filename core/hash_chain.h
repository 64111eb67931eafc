// SPDX-License-Identifier: BSD-2-Clause
// The hash of a sequence, of which more may come.
#pragma once

#include <cstdint>

#include "core/hash.h"

namespace memflame {

// The hash of a sequence: a polynomial in the hashes of its parts, modulo 2^128. These are seeded,
// so nobody can make an input in which two sequences share one.
inline Hash128 chained(const Hash128& before, const Hash128& part) {
  __extension__ using Wide = unsigned __int128;
  constexpr auto wide = [](uint64_t low, uint64_t high) { return Wide{high} << 64U | low; };
  constexpr Wide factor = wide(0x9e3779b97f4a7c15ULL, 0xd6e8feb86659fd93ULL);
  const Wide sum = wide(before.low, before.high) * factor + wide(part.low, part.high);
  return {static_cast<uint64_t>(sum), static_cast<uint64_t>(sum >> 64U)};
}

}  // namespace memflame
