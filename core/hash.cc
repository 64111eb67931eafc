// SPDX-License-Identifier: BSD-2-Clause
#include "core/hash.h"

#include <random>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace memflame {
namespace {

const uint64_t seed = [] {
  std::random_device random;
  return (uint64_t{random()} << 32) | random();
}();

}  // namespace

uint64_t hash_bytes(std::string_view bytes) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

Hash128 hash_bytes_128(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed);
  return {hash.low64, hash.high64};
}

uint64_t lasting_hash(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace memflame
