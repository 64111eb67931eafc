// SPDX-License-Identifier: BSD-2-Clause
#include "probes/unwind/code_lists.h"

#include <doctest/doctest.h>

#include <vector>

using namespace memflame;
using namespace memflame::unwind;

namespace {

constexpr uint64_t second = 1'000'000'000;

struct Memory {
  std::vector<bpf::code_slot> slots{100};
  std::vector<bpf::code_mapping> mappings{10};
  std::vector<bpf::cached_rule> rules{4};
  CodeLists lists{slots, mappings, rules};
};

std::vector<bpf::code_mapping> list_of(size_t count) {
  std::vector<bpf::code_mapping> list(count);
  for (size_t i = 0; i < count; ++i) {
    list[i].start = 0x1000 * (i + 1);
    list[i].end = list[i].start + 0x1000;
  }
  return list;
}

uint32_t first_of(uint64_t list) { return list & 0xffffff; }
uint32_t count_of(uint64_t list) { return list >> 24 & 0xffff; }
uint32_t id_of(uint64_t list) { return static_cast<uint32_t>(list >> 40); }

}  // namespace

TEST_CASE("a published list is what the programs find, under its number") {
  Memory m;
  const uint32_t slot = m.lists.claim(SpaceId{7});
  REQUIRE(slot != 0);
  CHECK(m.slots[slot].space == 7);
  CHECK(m.slots[slot].list == 0);
  REQUIRE(m.lists.publish(SpaceId{7}, list_of(3), 0, 5, 0));
  const uint64_t list = m.slots[slot].list;
  CHECK(count_of(list) == 3);
  CHECK(m.slots[slot].copies == 5);
  for (uint32_t i = 0; i < 3; ++i) {
    CHECK(m.mappings[first_of(list) + i].start == 0x1000 * (i + 1));
    CHECK(m.mappings[first_of(list) + i].id == id_of(list));
  }
}

TEST_CASE("the room of an old list rests before it is used again") {
  Memory m;
  const uint32_t slot = m.lists.claim(SpaceId{1});
  REQUIRE(m.lists.publish(SpaceId{1}, list_of(5), 0, 0, 0));
  const uint64_t old = m.slots[slot].list;
  REQUIRE(m.lists.publish(SpaceId{1}, list_of(5), 0, 0, second / 2));
  CHECK(first_of(m.slots[slot].list) != first_of(old));
  CHECK(m.mappings[first_of(old)].id == id_of(old));
  // Both halves are taken: the third list has to wait, and the second one stays.
  const uint64_t present = m.slots[slot].list;
  CHECK_FALSE(m.lists.publish(SpaceId{1}, list_of(5), 0, 0, second));
  CHECK(m.lists.refused() == 1);
  CHECK(m.slots[slot].list == present);
  CHECK(m.lists.publish(SpaceId{1}, list_of(5), 0, 0, 3 * second));
  // Pieces that were freed one by one merge again.
  CHECK(m.lists.publish(SpaceId{1}, list_of(0), 0, 0, 5 * second));
  CHECK(m.lists.publish(SpaceId{1}, list_of(10), 0, 0, 9 * second));
}

TEST_CASE("code that is unmapped while a list is put together makes it void") {
  Memory m;
  const uint32_t slot = m.lists.claim(SpaceId{1});
  const uint32_t unmaps = m.lists.unmaps(SpaceId{1});
  ++m.slots[slot].unmaps;  // as a program does it
  CHECK(m.lists.publish(SpaceId{1}, list_of(2), unmaps, 1, 0));
  CHECK(m.slots[slot].list == 0);
  CHECK(m.lists.publish(SpaceId{1}, list_of(2), m.lists.unmaps(SpaceId{1}), 1, 0));
  CHECK(m.slots[slot].list != 0);
}

TEST_CASE("spaces that would share an entry get others, and free theirs at their end") {
  Memory m;
  const uint32_t first = m.lists.claim(SpaceId{3});
  const uint32_t other = m.lists.claim(SpaceId{3 + 99});
  CHECK(first != other);
  REQUIRE(m.lists.publish(SpaceId{3}, list_of(1), 0, 0, 0));
  m.lists.release(SpaceId{3}, 0);
  CHECK(m.slots[first].space == 0);
  CHECK(m.slots[first].list == 0);
  CHECK(m.slots[other].space == 102);
  CHECK_FALSE(m.lists.publish(SpaceId{3}, list_of(1), 0, 0, 0));
}

TEST_CASE("before numbers come again, what was remembered under them is forgotten") {
  Memory m;
  m.lists.claim(SpaceId{1});
  m.rules[2] = {1, 1};
  for (uint64_t i = 0; i < (1U << bpf::code_id_bits); ++i)
    REQUIRE(m.lists.publish(SpaceId{1}, list_of(1), 0, 0, 2 * second * i));
  CHECK(m.rules[2].key == 0);
  CHECK(m.rules[2].rule == 0);
}
