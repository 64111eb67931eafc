// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/blame.h"

#include <doctest/doctest.h>

#include <map>
#include <random>

#include "render/picture/code_shares.h"
#include "render/picture/layout.h"
#include "render/picture/legend.h"
#include "tests/render/small_profile.h"
#include "tests/render/tree_text.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

RenderOptions with(Blame blame, const Profile& p, Neighbours order = Neighbours::by_name) {
  RenderOptions options;
  options.blame = blame;
  options.order = order;
  return resolved(options, p);
}

FrameTree drawn(const Profile& p, Blame blame, Neighbours order = Neighbours::by_name) {
  FrameTree tree = frame_tree(p, order, width_of(p, WidthOf::shown));
  BlamedTree blamed = blamed_tree(tree, p, with(blame, p, order));
  if (blamed.functions == 0) return tree;
  return std::move(blamed.tree);
}

Profile allocations() {
  Profile p = bytes();
  add(p, {"main", "parse", "operator new", "malloc"}, 7);
  add(p, {"main", "parse"}, 30);
  add(p, {"main", "parse", "std::grow()", "operator new", "malloc"}, 5);
  add(p, {"main", "malloc", "handler", "log", "malloc"}, 11);
  add(p, {"main", "malloc"}, 2);
  add(p, {"malloc", "sysmalloc"}, 4);
  return p;
}

}  // namespace

TEST_CASE("own figures move to who called the allocator") {
  const Profile p = allocations();
  CHECK(tree_text(p, drawn(p, Blame::caller)) ==
        "all 0(main 2(malloc 0(handler 0(log 11)) parse 37(std::grow() 5)) malloc 4)");
  CHECK(tree_text(p, drawn(p, Blame::user)) ==
        "all 0(main 2(malloc 0(handler 0(log 11)) parse 42) malloc 4)");
  const FrameTree all = frame_tree(p, Neighbours::by_name, width_of(p, WidthOf::shown));
  CHECK(tree_text(p, drawn(p, Blame::all)) == tree_text(p, all));
  CHECK(hidden_functions(all, p, with(Blame::caller, p)) == 3);
  CHECK(hidden_functions(all, p, with(Blame::user, p)) == 4);
  CHECK(hidden_functions(all, p, with(Blame::all, p)) == 0);
  CHECK(blame_note(3, Blame::caller, false) ==
        "not drawn: 3 functions of the allocator; their callers have the figures");
  CHECK(blame_note(1, Blame::user, true) ==
        "not drawn at first: 1 function of the allocator and of containers; its callers have its "
        "figures");
  CHECK(blame_note(0, Blame::caller, true).empty());
}

TEST_CASE("by width what is left decides") {
  Profile p = bytes();
  add(p, {"f", "a", "malloc"}, 10);
  add(p, {"f", "malloc"}, 50);
  add(p, {"f", "malloc", "handler"}, 1);
  add(p, {"f", "b"}, 20);
  add(p, {"f", "c"}, 10);
  CHECK(tree_text(p, drawn(p, Blame::caller, Neighbours::by_width)) ==
        "all 0(f 50(b 20 a 10 c 10 malloc 0(handler 1)))");
}

TEST_CASE("below a process, and above a note, a stack keeps its outermost function") {
  Profile p = bytes();
  const StackId app = p.push({}, "app", FrameKind::process);
  p.add(p.push(p.push(app, "malloc"), "sysmalloc"), std::array<int64_t, 1>{4});
  const StackId touched =
      p.push(p.push(p.push(app, "f"), "malloc"), "[first touched by]", FrameKind::note);
  p.add(p.push(touched, "g"), std::array<int64_t, 1>{5});
  p.add(p.push(touched, "realloc"), std::array<int64_t, 1>{6});
  p.add(touched, std::array<int64_t, 1>{1});
  CHECK(tree_text(p, drawn(p, Blame::user)) ==
        "all 0(app 0(f 0(malloc 0([first touched by] 1(g 5 realloc 6))) malloc 4))");
  const CodeShares shares = code_shares(p, width_of(p, WidthOf::shown));
  CHECK(shares.touched_first);
  CHECK(code_legend(p, palette_by_name("code"), shares).at(0).label == "whose code:");
}

TEST_CASE("what is memory is blamed on callers, time is not") {
  const Profile p = allocations();
  CHECK(resolved({}, p).blame == Blame::caller);
  Profile time;
  time.types = {{"time", Unit::nanoseconds}, {"samples", Unit::count}};
  CHECK(resolved({}, time).blame == Blame::all);
  CHECK(resolved({.blame = Blame::user}, time).blame == Blame::user);
  CHECK(resolved({.blame = Blame::user, .reversed = true}, p).blame == Blame::user);
}

TEST_CASE("widths of differences and of figures with signs move as they are") {
  Profile p = bytes();
  add(p, {"f", "malloc"}, 10);
  add(p, {"f", "operator new"}, -4);
  const FrameTree tree = drawn(p, Blame::caller);
  CHECK(tree_text(p, tree) == "all 0(f 6)");
  CHECK(layout(tree, p, {}).total == layout(p, {}).total);
}

TEST_CASE("totals of random stacks are those of all frames") {
  std::mt19937 random(7);
  const std::array<const char*, 7> names{"main",         "f",      "g",       "malloc",
                                         "operator new", "std::a", "std::b()"};
  for (int turn = 0; turn < 200; ++turn) {
    Profile p = bytes();
    for (int i = 0; i < 40; ++i) {
      StackId stack;
      for (unsigned depth = 1 + random() % 8; depth > 0; --depth)
        stack = p.push(stack, names[random() % names.size()]);
      p.add(stack, std::array<int64_t, 1>{static_cast<int64_t>(random() % 100) - 10});
    }
    for (const Blame blame : {Blame::caller, Blame::user})
      for (const Neighbours order : {Neighbours::by_name, Neighbours::by_width}) {
        const FrameTree tree = drawn(p, blame, order);
        CHECK(layout(tree, p, {}).total == layout(p, {}).total);
        CHECK(inclusive(tree, p).at(0) == p.total(0));
        // No figures at the allocator, unless nothing else is known.
        for (uint32_t node = 1; node < tree.size(); ++node) {
          const Frame& frame = p.frames[tree.frame[node]];
          if (tree.caller[node] != 0 && inner_frame(p, frame) == InnerFrame::allocator)
            CHECK(tree.row(node)[0] == 0);
        }
      }
  }
}

TEST_CASE("a picture that merges narrow frames keeps the allocator's on those that it has") {
  Profile p = bytes();
  for (int i = 0; i < 50; ++i) {
    const std::string name = "f" + std::to_string(i);
    add(p, {"main", name, "operator new", "malloc"}, 1000 - i);
    add(p, {"main", name, "g", "malloc"}, 1);
  }
  add(p, {"main", "malloc", "handler"}, 1);
  const FrameTree tree = frame_tree(p, Neighbours::by_name, width_of(p, WidthOf::shown));
  const std::vector<bool> only = allocator_nodes(tree, p);
  const Layout boxes = layout(tree, p, {.max_boxes = 21, .attached = only});
  size_t frames = 0, of_allocator = 0;
  for (const Box& box : boxes.boxes) {
    if (!box.frame) continue;
    ++frames;
    if (only.at(box.node)) ++of_allocator;
  }
  CHECK(frames - of_allocator == 21);
  CHECK(of_allocator == 40);
  CHECK(boxes.total == p.total(0));
  Profile other = bytes();
  add(other, {"f"}, 1);
  CHECK(allocator_nodes(frame_tree(other, Neighbours::by_name, width_of(other, WidthOf::shown)),
                        other)
            .empty());
}
