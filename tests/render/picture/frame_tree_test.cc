// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/frame_tree.h"

#include <doctest/doctest.h>

#include <array>
#include <random>

#include "core/error.h"
#include "tests/render/small_profile.h"
#include "tests/render/tree_text.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

FrameTree tree_of(const Profile& p, Neighbours order = Neighbours::by_name) {
  return frame_tree(p, order, width_of(p, WidthOf::shown));
}

}  // namespace

TEST_CASE("callers before callees, by name") {
  Profile p = bytes();
  add(p, {"b", "y"}, 1);
  add(p, {"a", "z"}, 2);
  add(p, {"b", "x"}, 3);
  add(p, {"b"}, 4);
  add(p, {}, 5);
  CHECK(tree_text(p, tree_of(p)) == "all 5(a 0(z 2) b 4(x 3 y 1))");
}

TEST_CASE("by width the widest come first, equal ones by name") {
  Profile p = bytes();
  add(p, {"a"}, 2);
  add(p, {"b", "y"}, 1);
  add(p, {"b", "x"}, 5);
  add(p, {"d"}, 2);
  add(p, {"c"}, 2);
  add(p, {"e"}, -9);  // has no width
  CHECK(tree_text(p, tree_of(p, Neighbours::by_width)) == "all 0(b 0(x 5 y 1) a 2 c 2 d 2 e -9)");
}

TEST_CASE("nodes without figures are left out, others keep their sign") {
  Profile p = bytes();
  add(p, {"a", "gone"}, 5);
  add(p, {"a", "gone"}, -5);
  add(p, {"a", "less", "less"}, -7);
  p.push(p.push({}, "never"), "called");
  CHECK(tree_text(p, tree_of(p)) == "all 0(a 0(less 0(less -7)))");
  CHECK(inclusive(tree_of(p), p) == std::vector<int64_t>{-7, -7, -7, -7});
  const Profile none = bytes();
  CHECK(tree_text(none, tree_of(none)) == "all 0");
}

TEST_CASE("frames that differ by lines only are one, also in what they call") {
  Profile p = bytes();
  for (uint32_t line = 1; line <= 3; ++line) {
    const StackId f = p.push({}, "f", FrameKind::user, "lib", "a.c", line);
    p.add(p.push(f, "g", FrameKind::user, "lib", "a.c", line), std::array<int64_t, 1>{line});
    p.add(f, std::array<int64_t, 1>{10});
  }
  p.add(p.push({}, "f", FrameKind::user, "other"), std::array<int64_t, 1>{100});
  CHECK(tree_text(p, tree_of(p)) == "all 0(f 30(g 6) f 100)");
}

TEST_CASE("in the order of time only neighbours are one") {
  Profile p = bytes(true);
  add(p, {"a", "b"}, 1);
  add(p, {"a", "c"}, 1);
  add(p, {"a", "b"}, 1);
  CHECK(tree_text(p, tree_of(p, Neighbours::by_time)) == "all 0(a 0(b 1 c 1 b 1))");
  CHECK(tree_text(p, tree_of(p)) == "all 0(a 0(b 2 c 1))");
  add(p, {"a", "b"}, 2);
  add(p, {"a", "b", "x"}, 4);
  add(p, {"a"}, 8);
  add(p, {"z"}, 0);
  add(p, {"b"}, 16);
  add(p, {"a", "b"}, 32);
  CHECK(tree_text(p, tree_of(p, Neighbours::by_time)) ==
        "all 0(a 8(b 1 c 1 b 3(x 4)) b 16 a 0(b 32))");
}

TEST_CASE("in the order of time lines do not part a frame") {
  Profile p = bytes(true);
  for (const uint32_t line : {1U, 2U, 1U}) {
    const StackId f = p.push({}, "f", FrameKind::user, "lib", "a.c", line);
    p.add(p.push(f, "g"), std::array<int64_t, 1>{1});
  }
  CHECK(tree_text(p, tree_of(p, Neighbours::by_time)) == "all 0(f 0(g 3))");
}

TEST_CASE("a profile without an order of time has no flame chart") {
  Profile p = bytes();
  add(p, {"a"}, 1);
  CHECK_THROWS_WITH_AS(tree_of(p, Neighbours::by_time), doctest::Contains("order"), Error);
}

TEST_CASE("the tree holds what the profile does, in every order") {
  for (uint32_t seed = 1; seed <= 10; ++seed) {
    std::minstd_rand random(seed);
    Profile p = bytes(true);
    for (int i = 0; i < 500; ++i) {
      StackId top;
      for (size_t depth = random() % 9; depth > 0; --depth)
        top = p.push(top, "f" + std::to_string(random() % 3), FrameKind::user, "", "",
                     static_cast<uint32_t>(random() % 2));
      p.add(top, std::array{static_cast<int64_t>(random() % 100) - 20});
    }
    for (const Neighbours order :
         {Neighbours::by_name, Neighbours::by_width, Neighbours::by_time}) {
      const FrameTree tree = tree_of(p, order);
      CHECK(inclusive(tree, p)[0] == p.total(0));
      tree_text(p, tree);  // checks who calls whom
    }
  }
}

TEST_CASE("ten thousand frames deep, in every order") {
  Profile p = bytes(true);
  StackId top;
  for (int i = 0; i < 10000; ++i) {
    top = p.push(top, "f" + std::to_string(i % 3));
    p.add(top, std::array<int64_t, 1>{1});
  }
  for (const Neighbours order : {Neighbours::by_name, Neighbours::by_width, Neighbours::by_time}) {
    const FrameTree tree = tree_of(p, order);
    CHECK(tree.size() == 10001);
    CHECK(inclusive(tree, p)[0] == 10000);
  }
}
