// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/address_space.h"

#include <doctest/doctest.h>

#include <random>

#include "tests/support/scaled.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

Paged<Space> space_of(std::vector<Mapping> mappings) {
  Paged<Space> spaces(2);
  spaces[1].mappings = std::move(mappings);
  return spaces;
}

// The same, in the simplest way.
const Mapping* newest(const std::vector<Mapping>& mappings, uint64_t address, uint64_t time_ns) {
  const Mapping* found = nullptr;
  for (const Mapping& m : mappings)
    if (m.start <= address && address < m.end && m.from_ns <= time_ns && time_ns < m.until_ns &&
        (found == nullptr || m.from_ns >= found->from_ns))
      found = &m;
  return found;
}

}  // namespace

TEST_CASE("the newest mapping is found as if all were looked at") {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<Mapping> mappings(random() % 40);
    for (Mapping& m : mappings) {
      m.start = random() % 30;
      m.end = m.start + random() % 10;
      m.from_ns = random() % 20;
      if (random() % 2 != 0) m.until_ns = m.from_ns + random() % 10;
    }
    const Paged<Space> spaces = space_of(mappings);
    AddressSpaces index(spaces);
    for (uint64_t address = 0; address < 42; ++address)
      for (uint64_t time = 0; time < 32; ++time) {
        const Mapping* mapping = index.find(SpaceId{1}, address, time).mapping;
        REQUIRE(mapping == newest(spaces[1].mappings, address, time));
      }
  }
}

TEST_CASE("mappings over each other are as quickly found as others") {
  // Every address is in half of them: a search through all of them would take hours.
  constexpr uint64_t count = scaled(200'000);
  std::vector<Mapping> mappings(count);
  for (uint64_t i = 0; i < count; ++i) {
    mappings[i] = {i, 2 * count - i, 0, {}, i, 2 * count - i};
  }
  const Paged<Space> spaces = space_of(mappings);
  AddressSpaces index(spaces);
  for (uint64_t i = 0; i < count; ++i) {
    REQUIRE(index.find(SpaceId{1}, i, i).mapping == &spaces[1].mappings[i]);
    REQUIRE(index.find(SpaceId{1}, i, 2 * count - 1).mapping == spaces[1].mappings.data());
    REQUIRE(index.find(SpaceId{1}, count + i, i / 2).mapping ==
            &spaces[1].mappings[std::min(i / 2, count - i - 1)]);
  }
}
