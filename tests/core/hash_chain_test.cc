// SPDX-License-Identifier: BSD-2-Clause
#include "core/hash_chain.h"

#include <doctest/doctest.h>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

TEST_CASE("the hash of a sequence depends on its parts and their order") {
  const Hash128 a = hash_bytes_128("a"), b = hash_bytes_128("b"), none{};
  CHECK(chained(chained(none, a), b) == chained(chained(none, a), b));
  CHECK(chained(chained(none, a), b) != chained(chained(none, b), a));
  CHECK(chained(chained(none, a), a) != chained(none, a));
  CHECK(chained(none, a) == a);
}
