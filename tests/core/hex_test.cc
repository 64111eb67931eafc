// SPDX-License-Identifier: BSD-2-Clause
#include "core/hex.h"

#include <doctest/doctest.h>

#include <array>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

TEST_CASE("hex") {
  CHECK(hex(uint64_t{0}) == "0x0");
  CHECK(hex(uint64_t{0x1f}) == "0x1f");
  CHECK(hex(UINT64_MAX) == "0xffffffffffffffff");
  CHECK(hex(std::array{std::byte{0x0a}, std::byte{0xf0}}) == "0af0");
  CHECK(hex(std::span<const std::byte>()).empty());
}
