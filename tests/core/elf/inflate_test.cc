// SPDX-License-Identifier: BSD-2-Clause
#include "core/elf/inflate.h"

#include <doctest/doctest.h>
#include <lzma.h>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

TEST_CASE("packed data that are broken, or too much, are none") {
  const std::vector<uint8_t> zeros(4000000);
  std::vector<uint8_t> packed(10000);
  size_t size = 0;
  REQUIRE(::lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, nullptr, zeros.data(), zeros.size(),
                                    packed.data(), &size, packed.size()) == LZMA_OK);
  const Bytes all = std::as_bytes(std::span(packed)).first(size);
  CHECK(inflate_xz(all, 4000000).size() == 4000000);
  CHECK(inflate_xz(all, 3999999).empty());
  CHECK(inflate_xz(all.first(all.size() - 1), 4000000).empty());
  CHECK(inflate_xz(all.subspan(1), 4000000).empty());
  CHECK(inflate_xz({}, 4000000).empty());
}
