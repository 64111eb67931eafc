// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/stack_tree.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

using namespace memflame;          // NOLINT(google-build-using-namespace): tests only
using namespace memflame::inside;  // NOLINT(google-build-using-namespace)

namespace {

using Frames = std::vector<uint64_t>;  // outermost first

uint64_t key_of(const StackTree& tree, const Frames& frames, SpaceId space = SpaceId{1}) {
  FrameChain chain;
  chain.begin(tree.root(space));
  for (const uint64_t frame : frames) chain.push(frame);
  return StackTree::key(chain.hash(), fn_malloc, 0);
}

}  // namespace

TEST_CASE("a stack has one number, whatever was seen in between, and gives its frames back") {
  StackTree tree;
  std::mt19937_64 random(3);  // NOLINT(bugprone-random-generator-seed): the same each time
  std::map<Frames, uint32_t> known;
  for (int i = 0; i < 60'000; ++i) {
    Frames frames(random() % 12);
    for (uint64_t& frame : frames) frame = 1 + random() % 5;
    const uint64_t key = key_of(tree, frames);
    const uint32_t number = tree.find(key);
    if (number != 0) {
      CHECK(known.at(frames) == number);
      continue;
    }
    CHECK(!known.contains(frames));
    known[frames] = tree.add(key, frames, {.leaf = 9, .space = 1});
  }
  CHECK(tree.size() == known.size() + 1);
  CHECK(known.size() > 16'384);  // so the table has grown
  for (const auto& [frames, number] : known) {
    const RawStack stack = tree.raw(number);
    REQUIRE(stack.pcs.size() == frames.size() + 1);
    CHECK(stack.pcs[0] == Pc{9, false});
    for (size_t i = 0; i < frames.size(); ++i)
      CHECK(stack.pcs[i + 1] == Pc{frames[frames.size() - 1 - i], true});
  }
}

TEST_CASE("a chain goes on from the frames that are kept") {
  const StackTree tree;
  FrameChain chain;
  chain.begin(tree.root(SpaceId{1}));
  for (const uint64_t frame : {1UL, 2UL, 3UL, 4UL}) chain.push(frame);
  chain.keep(2);
  chain.push(7);
  CHECK(StackTree::key(chain.hash(), fn_malloc, 0) == key_of(tree, {1, 2, 7}));
  CHECK(key_of(tree, {1, 2, 7}) != key_of(tree, {1, 2, 7}, SpaceId{2}));
  CHECK(key_of(tree, {1, 2}) != key_of(tree, {2, 1}));
}

TEST_CASE("hashes differ from run to run") {
  CHECK(StackTree().root(SpaceId{1}) != StackTree().root(SpaceId{1}));
}

TEST_CASE("stacks that are removed make room, and others are found as before") {
  StackTree tree;
  constexpr uint32_t stacks = 20'000;  // the table grows
  const auto frames_of = [](uint64_t i) { return Frames{1, 2 + i % 7, 100 + i}; };
  for (uint64_t i = 0; i < stacks; ++i)
    tree.add(key_of(tree, frames_of(i)), frames_of(i), {.leaf = 9, .space = 1});
  CHECK(tree.take_added().size() == stacks);
  std::vector<uint32_t> removed;
  for (uint64_t i = 0; i < stacks; i += 2) removed.push_back(tree.find(key_of(tree, frames_of(i))));
  tree.remove(removed);
  for (uint64_t i = 0; i < stacks; ++i)
    CHECK((tree.find(key_of(tree, frames_of(i))) == 0) == (i % 2 == 0));

  const uint32_t again = tree.add(key_of(tree, {5}), Frames{5}, {.leaf = 9, .space = 2});
  CHECK(std::ranges::count(removed, again) == 1);
  CHECK(tree.size() == stacks + 1);
  CHECK(tree.take_added() == std::vector{again});
  CHECK(tree.raw(again).space == SpaceId{2});
}
