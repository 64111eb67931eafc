// SPDX-License-Identifier: BSD-2-Clause
#include "probes/processes/code_turns.h"

#include <doctest/doctest.h>

#include <array>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

Mapping code(uint64_t start, uint64_t end, uint32_t module, uint64_t offset = 0) {
  Mapping made;
  made.start = start;
  made.end = end;
  made.offset = offset;
  made.module = ModuleId{module};
  return made;
}

// One space, whose code is all from files unless said otherwise.
struct Turns {
  CodeTurns turns;
  void note(const Mapping& mapping, bool is_file = true) { turns.note(mapping, is_file, {}); }
  uint64_t of(const Mapping& mapping, bool is_file = true) const {
    return turn_of(mapping, is_file, std::array{&turns});
  }
};

}  // namespace

TEST_CASE("only code that takes the place of other code has a turn") {
  Turns space;
  const Mapping first = code(100, 200, 1), beside = code(200, 300, 2), second = code(150, 250, 3);
  space.note(first);
  space.note(beside);
  CHECK_FALSE(space.turns.any());
  space.note(second);
  CHECK(space.turns.any());
  CHECK(space.of(first) == 0);
  CHECK(space.of(beside) == 0);
  CHECK(space.of(second) != 0);
}

TEST_CASE("code that comes back has the turn that it had") {
  Turns space;
  const Mapping first = code(100, 200, 1), second = code(100, 200, 2), third = code(100, 200, 3);
  for (const Mapping& each : {first, second, third}) space.note(each);
  const uint64_t turn = space.of(second);
  CHECK(turn != space.of(third));
  for (const Mapping& each : {first, second}) space.note(each);
  CHECK(space.of(first) == 0);
  CHECK(space.of(second) == turn);
}

TEST_CASE("a file that lies elsewhere is other code, its parts are not") {
  Turns space;
  space.note(code(100, 200, 1));
  space.note(code(150, 200, 1, 50));
  CHECK_FALSE(space.turns.any());
  space.note(code(150, 200, 1));
  CHECK(space.of(code(150, 200, 1, 50)) == 0);
  CHECK(space.of(code(150, 200, 1)) != 0);
}

TEST_CASE("code without a file is the same wherever it lies") {
  Turns space;
  for (uint64_t at = 100; at < 200; at += 10) space.note(code(at, at + 10, 1), false);
  space.note(code(120, 170, 1), false);
  CHECK_FALSE(space.turns.any());
  space.note(code(130, 140, 2));
  CHECK(space.of(code(130, 140, 2)) != 0);
  CHECK(space.of(code(140, 160, 1), false) == 0);
}

TEST_CASE("a forked process goes on from its parent's code") {
  CodeTurns parent, child;
  parent.note(code(100, 200, 1), true, {});
  const std::array before{&parent};
  child.note(code(100, 200, 2), true, before);
  CHECK(child.any());
  CHECK_FALSE(parent.any());
  CHECK(turn_of(code(100, 200, 1), true, std::array{&parent, &child}) == 0);
  CHECK(turn_of(code(100, 200, 2), true, std::array{&parent, &child}) != 0);
}

TEST_CASE("the turn at an address") {
  const std::array<LaterCode, 2> later{{{100, 200, 7, {}}, {300, 400, 8, {}}}};
  CHECK(turn_at(later, 99) == 0);
  CHECK(turn_at(later, 100) == 7);
  CHECK(turn_at(later, 200) == 0);
  CHECK(turn_at(later, 399) == 8);
  CHECK(turn_at({}, 100) == 0);
}
