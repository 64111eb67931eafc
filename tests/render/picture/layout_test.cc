// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/layout.h"

#include <doctest/doctest.h>

#include <array>
#include <map>
#include <random>

#include "tests/render/small_profile.h"
#include "tests/support/scaled.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

std::string name(const Profile& p, const Box& box) {
  if (box.merged != 0) return "(" + std::to_string(box.merged) + ")";
  return box.frame ? std::string(p.strings[p.frames[box.frame].function]) : "all";
}

// "name offset total self" for each box, indented by depth.
std::string text(const Profile& p, const Layout& layout) {
  std::string out;
  for (const Box& box : layout.boxes)
    out += std::string(size_t{2} * box.depth, ' ') + name(p, box) + " " +
           std::to_string(box.offset) + " " + std::to_string(box.total) + " " +
           std::to_string(box.self) + "\n";
  return out;
}

// Invariants of every layout: callees lie side by side in their caller from its left edge, and
// together with the caller's own part they add up to it, also in the sums of every column.
void check_invariants(const Profile& p, const Layout& layout) {
  REQUIRE(!layout.boxes.empty());
  CHECK(layout.boxes[0].total == layout.total);
  CHECK(layout.values.size() == layout.boxes.size() * layout.columns);
  std::vector<size_t> callers;
  std::vector<int64_t> callees(layout.boxes.size(), 0);
  int64_t self = 0;
  uint32_t depth = 0;
  bool good = true;
  for (size_t i = 0; i < layout.boxes.size(); ++i) {
    const Box& box = layout.boxes[i];
    callers.resize(std::min<size_t>(box.depth, callers.size()));
    good = good && callers.size() == box.depth && box.total > 0 && box.self >= 0;
    if (box.depth > 0) {
      good = good && box.offset == layout.boxes[callers.back()].offset + callees[callers.back()];
      callees[callers.back()] += box.total;
    }
    callers.push_back(i);
    self += box.self;
    depth = std::max(depth, box.depth + 1);
  }
  for (size_t i = 0; i < layout.boxes.size(); ++i)
    good = good && callees[i] + (layout.boxes[i].merged != 0 ? 0 : layout.boxes[i].self) ==
                       (layout.boxes[i].merged != 0 ? 0 : layout.boxes[i].total);
  CHECK(good);
  CHECK(self == layout.total);
  CHECK(depth == layout.depth);
  CHECK(layout.total + layout.undrawn == p.total(p.shown));
  for (size_t column = 0; column < layout.columns; ++column)
    CHECK(layout.sums(0)[column] == p.total(column));
}

Profile random_profile(uint32_t seed, int stacks) {
  std::minstd_rand random(seed);
  Profile p;
  p.types = {{"live", Unit::bytes}, {"live-count", Unit::count}};
  for (int i = 0; i < stacks; ++i) {
    StackId top;
    const size_t depth = 1 + random() % 12;
    for (size_t d = 0; d < depth; ++d)
      top = p.push(top, "f" + std::to_string(random() % 9), static_cast<FrameKind>(random() % 3),
                   "", "", static_cast<uint32_t>(random() % 3));
    p.add(top, std::array{static_cast<int64_t>(random() % 1000) - 100, int64_t{1}});
  }
  return p;
}

}  // namespace

TEST_CASE("a caller with own bytes and a sibling that extends its name is one box") {
  Profile p = bytes();
  add(p, {"a", "b"}, 100);
  add(p, {"a", "b-c"}, 100);
  add(p, {"a", "b", "c"}, 100);
  const Layout l = layout(p, {});
  CHECK(text(p, l) ==
        "all 0 300 0\n"
        "  a 0 300 0\n"
        "    b 0 200 100\n"
        "      c 0 100 100\n"
        "    b-c 200 100 100\n");
  check_invariants(p, l);
}

TEST_CASE("siblings are ordered by their bytes, in whatever order they came") {
  Profile p = bytes();
  for (const char* frame : {"b", "\xc3\xa9", "B", "a", "", "ab"}) add(p, {frame}, 1);
  Profile q = bytes();
  for (const char* frame : {"ab", "", "a", "B", "\xc3\xa9", "b"}) add(q, {frame}, 1);
  CHECK(text(p, layout(p, {})) ==
        "all 0 6 0\n   0 1 1\n  B 1 1 1\n  a 2 1 1\n  ab 3 1 1\n  b 4 1 1\n  \xc3\xa9 5 1 1\n");
  CHECK(text(p, layout(p, {})) == text(q, layout(q, {})));
}

TEST_CASE("lines do not split a function; modules and kinds do") {
  Profile p = bytes();
  p.add(p.push({}, "f", FrameKind::user, "lib", "a.c", 1), std::array<int64_t, 1>{1});
  p.add(p.push({}, "f", FrameKind::user, "lib", "a.c", 2), std::array<int64_t, 1>{2});
  p.add(p.push(p.push({}, "f", FrameKind::user, "lib", "b.c", 2), "g"), std::array<int64_t, 1>{4});
  p.add(p.push({}, "f", FrameKind::inlined, "lib", "a.c", 1), std::array<int64_t, 1>{8});
  p.add(p.push({}, "f", FrameKind::user, "other"), std::array<int64_t, 1>{16});
  const Layout l = layout(p, {});
  CHECK(text(p, l) == "all 0 31 0\n  f 0 7 3\n    g 0 4 4\n  f 7 8 8\n  f 15 16 16\n");
  CHECK(l.stacks == 4);
}

TEST_CASE("what was given back has no box, and is not lost from sight") {
  Profile p = bytes();
  add(p, {"main", "grow"}, 100);
  add(p, {"main", "shrink"}, -30);
  add(p, {"main", "shrink", "regrow"}, 5);
  add(p, {"idle"}, 0);
  const Layout l = layout(p, {});
  CHECK(text(p, l) ==
        "all 0 105 0\n  main 0 105 0\n    grow 0 100 100\n    shrink 100 5 0\n"
        "      regrow 100 5 5\n");
  CHECK(l.undrawn == -30);
  CHECK(l.undrawn_stacks == 1);
  CHECK(l.sums(3)[0] == -25);  // what "shrink" really made of it
  check_invariants(p, l);
}

TEST_CASE("nothing, and only what was given back, is an empty picture") {
  Profile p = bytes();
  CHECK(layout(p, {}).boxes.empty());
  add(p, {"main"}, -7);
  const Layout l = layout(p, {});
  CHECK(l.boxes.empty());
  CHECK(l.total == 0);
  CHECK(l.undrawn == -7);
}

TEST_CASE("narrow callees become one box with all that is below them") {
  Profile p = bytes();
  add(p, {"main", "wide"}, 970);
  add(p, {"main", "a"}, 9);
  add(p, {"main", "b", "c"}, 4);
  add(p, {"main", "b", "d"}, 5);
  add(p, {"main", "z"}, 10);
  const Layout l = layout(p, {.min_share = 0.01});
  CHECK(text(p, l) ==
        "all 0 998 0\n  main 0 998 0\n    wide 0 970 970\n    z 970 10 10\n    (4) 980 18 18\n");
  CHECK(l.sums(4)[0] == 18);
  check_invariants(p, l);
  // Boxes below the limit are merged, and nothing is lost.
  const Layout all = layout(p, {.min_share = 0.99});
  CHECK(text(p, all) == "all 0 998 0\n  main 0 998 0\n    (6) 0 998 998\n");
}

TEST_CASE("levels beyond the limit become one box per caller") {
  Profile p = bytes();
  add(p, {"a", "b", "c", "d"}, 1);
  add(p, {"a", "b", "x"}, 2);
  const Layout l = layout(p, {.max_depth = 3});
  CHECK(text(p, l) == "all 0 3 0\n  a 0 3 0\n    (4) 0 3 3\n");
}

TEST_CASE("the invariants hold for random stacks, whatever is merged") {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    const Profile p = random_profile(seed, 300);
    for (const double share : {0.0, 0.001, 0.01, 0.2}) {
      const Layout l = layout(p, {.min_share = share});
      check_invariants(p, l);
      CHECK(l.total == layout(p, {}).total);
    }
  }
}

TEST_CASE("ten thousand frames deep") {
  Profile p = bytes();
  StackId top;
  for (int i = 0; i < 10000; ++i) top = p.push(top, "f" + std::to_string(i % 3));
  p.add(top, std::array<int64_t, 1>{5});
  const Layout l = layout(p, {});
  CHECK(l.depth == 10001);
  check_invariants(p, l);
}

TEST_CASE("a hundred thousand stacks") {
  constexpr size_t stacks = scaled(100000);
  const Profile p = random_profile(99, stacks);
  const Layout l = layout(p, {.min_share = 1e-6});
  CHECK(l.boxes.size() > stacks);
  check_invariants(p, l);
}

TEST_CASE("a sum that leaves 64 bits is refused") {
  Profile p = bytes();
  add(p, {"a"}, INT64_MAX);
  add(p, {"b"}, -10);
  add(p, {"c"}, 5);  // the net fits, the width would not
  CHECK_THROWS_AS(layout(p, {}), Error);
  Profile huge = bytes();
  add(huge, {"a"}, INT64_MAX - 5);
  add(huge, {"b"}, 5);
  check_invariants(huge, layout(huge, {}));
}
