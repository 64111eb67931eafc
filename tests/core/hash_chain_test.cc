// SPDX-License-Identifier: BSD-2-Clause
#include "core/hash_chain.h"

#include <doctest/doctest.h>

#include <string>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

TEST_CASE("the hash of a stack depends on its names and their order") {
  const Hash128 a = hash_bytes_128("a"), b = hash_bytes_128("b"), none{};
  CHECK(chained(chained(none, a), b) == chained(chained(none, a), b));
  CHECK(chained(chained(none, a), b) != chained(chained(none, b), a));
  CHECK(chained(chained(none, a), a) != chained(none, a));
  CHECK(chained(none, a) == a);
}

TEST_CASE("stacks are found by their hashes, whose halves are both compared") {
  ChainedStacks stacks;
  CHECK(!stacks.find({}));
  constexpr uint32_t count = 10000;
  for (uint32_t i = 1; i <= count; ++i) stacks.add(hash_bytes_128(std::to_string(i)));
  for (uint32_t i = 1; i <= count; ++i) {
    const Hash128 hash = hash_bytes_128(std::to_string(i));
    CHECK(stacks.find(hash) == StackId{i});
    CHECK(stacks.likely(hash) != 0);
    CHECK(!stacks.find({hash.low, hash.high + 1}));
  }
  CHECK(!stacks.find(hash_bytes_128("0")));
}
