// SPDX-License-Identifier: BSD-2-Clause
#include "core/byte_cursor.h"

#include <doctest/doctest.h>

#include <vector>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

using Numbers = std::vector<int>;

std::vector<std::byte> bytes_of(const Numbers& numbers) {
  std::vector<std::byte> bytes;
  for (const int number : numbers) bytes.push_back(static_cast<std::byte>(number));
  return bytes;
}

}  // namespace

TEST_CASE("numbers of any length, and those that are too long") {
  CHECK(ByteCursor(bytes_of({0xe5, 0x8e, 0x26})).uleb() == 624485);
  CHECK(ByteCursor(bytes_of({0xc0, 0xbb, 0x78})).sleb() == -123456);
  const auto all = bytes_of({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01});
  CHECK(ByteCursor(all).uleb() == UINT64_MAX);
  const auto lowest = bytes_of({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f});
  CHECK(ByteCursor(lowest).sleb() == INT64_MIN);
  for (const Numbers& raw :
       {Numbers{}, Numbers{0x80}, Numbers{255, 255, 255, 255, 255, 255, 255, 255, 255, 2},
        Numbers{128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 0}}) {
    const auto bytes = bytes_of(raw);
    ByteCursor u(bytes), s(bytes);
    u.uleb();
    s.sleb();
    CHECK(u.failed());
    CHECK(s.failed());
    CHECK(u.left() == 0);
  }
}
