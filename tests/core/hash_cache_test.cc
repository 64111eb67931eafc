// SPDX-License-Identifier: BSD-2-Clause
#include "core/hash_cache.h"

#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <thread>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

Hash128 hash_of(uint32_t number) { return hash_bytes_128(std::to_string(number)); }

}  // namespace

TEST_CASE("a cache of hashes finds what was added, and compares both halves") {
  HashCache cache;
  CHECK(cache.find({}) == 0);
  constexpr uint32_t count = 10000;
  for (uint32_t i = 1; i <= count; ++i) {
    CHECK(cache.find(hash_of(i)) == 0);
    cache.insert(hash_of(i), i);
  }
  for (uint32_t i = 1; i <= count; ++i) {
    const Hash128 hash = hash_of(i);
    CHECK(cache.find(hash) == i);
    CHECK(cache.find({hash.low, hash.high + 1}) == 0);
    CHECK(cache.find({hash.low + 1, hash.high}) == 0);
  }
  cache.clear();
  CHECK(cache.find(hash_of(1)) == 0);
}

TEST_CASE("hashes that begin at one place of a cache do not hide each other") {
  HashCache cache;
  for (uint32_t i = 1; i <= 100; ++i) cache.insert({uint64_t{i} << 40U, i}, i);
  cache.insert({0, 0}, 101);
  for (uint32_t i = 1; i <= 100; ++i) CHECK(cache.find({uint64_t{i} << 40U, i}) == i);
  CHECK(cache.find({0, 0}) == 101);
  CHECK(cache.find({0, 1}) == 0);
}

TEST_CASE("a full cache of hashes forgets its entries, and takes new ones") {
  HashCache cache(100);
  for (uint32_t i = 1; i <= 101; ++i) cache.insert(hash_of(i), i);
  CHECK(cache.find(hash_of(1)) == 0);
  CHECK(cache.find(hash_of(101)) == 101);
  for (uint32_t i = 1; i <= 99; ++i) cache.insert(hash_of(i), i);
  for (uint32_t i = 1; i <= 99; ++i) CHECK(cache.find(hash_of(i)) == i);
}

TEST_CASE("threads that look into a growing, forgetting cache of hashes find right numbers only") {
  constexpr uint32_t count = 50000, kept = 5000;
  HashCache cache(kept, true);
  std::atomic<bool> done{false};
  std::atomic<uint64_t> found{0}, wrong{0};
  const auto look = [&] {
    do {
      for (uint32_t i = 1; i <= count; i += 7) {
        const uint32_t number = cache.find(hash_of(i));
        found += number != 0 ? 1 : 0;
        wrong += number != 0 && number != i ? 1 : 0;
      }
    } while (!done);
  };
  {
    const std::jthread one(look), other(look);
    for (uint32_t i = 1; i <= count; ++i) cache.insert(hash_of(i), i);
    done = true;
  }
  CHECK(wrong == 0);
  look();  // the last ones are there
  CHECK(found != 0);
}
