// SPDX-License-Identifier: BSD-2-Clause
// Hashes of bytes. They differ from run to run, so nobody can craft names that all collide; nothing
// that is printed may depend on their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace memflame {

uint64_t hash_bytes(std::string_view bytes);

// Wide enough to stand for the bytes themselves: among 10^9 texts two share a hash with a chance of
// about 10^-21.
struct Hash128 {
  uint64_t low = 0, high = 0;
  friend bool operator==(const Hash128&, const Hash128&) = default;
};
Hash128 hash_bytes_128(std::string_view bytes);

// The same in all runs and on all machines, for what is stored by its hash.
uint64_t lasting_hash(std::string_view bytes);

// Mixes two 64-bit words (the finalizer of splitmix64, by Sebastiano Vigna, public domain).
inline uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t x = a ^ (b + 0x9e3779b97f4a7c15ULL);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// For tables whose keys are numbers of an input.
struct NumberHash {
  size_t operator()(int64_t number) const noexcept { return mix(static_cast<uint64_t>(number), 0); }
};

}  // namespace memflame
