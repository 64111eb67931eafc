// SPDX-License-Identifier: BSD-2-Clause
#include "render/order/source_lines.h"

#include <doctest/doctest.h>

#include <array>
#include <sstream>

#include "collapse/input.h"
#include "collapse/tidy/tidy.h"
#include "render/output.h"
#include "render/picture/frame_tree.h"
#include "render/transform.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

// main calls f in line 10, and in line 12 where f is in another line, too.
Profile example() {
  Profile p;
  p.types = {{"live", Unit::bytes}, {"calls", Unit::count}};
  const auto add = [&](uint32_t of_main, uint32_t of_f, int64_t live, int64_t calls) {
    const StackId main = p.push({}, "main", FrameKind::user, "app", "/src/a.c", of_main);
    p.add(p.push(main, "f", FrameKind::user, "app", "/src/b.c", of_f),
          std::array<int64_t, 2>{live, calls});
  };
  add(10, 3, 5, 1);
  add(12, 3, 2, 1);
  add(12, 4, 4, 1);
  return p;
}

std::string written(std::string_view format, const Profile& p, RenderOptions options = {}) {
  options.header = false;
  std::ostringstream out;
  output_for(format, "").write(out, p, options);
  return out.str();
}

Profile read_back(const std::string& text, bool lines) {
  Source source = Source::of_memory(text, "text");
  return read_profile(source, "", {.lines = lines});
}

}  // namespace

TEST_CASE("by function: frames have the line with the most of what is shown") {
  Profile p = example();
  const Profile merged = by_function(p);
  REQUIRE(merged.touched().size() == 1);
  const StackId stack = merged.touched()[0];
  CHECK(merged.values(stack)[0] == 11);
  const std::vector<FrameId> path = merged.path(stack);
  CHECK(merged.frames[path[0]].line == 12);
  CHECK(merged.frames[path[1]].line == 3);
  CHECK(merged.strings[merged.frames[path[1]].file] == "/src/b.c");
}

TEST_CASE("lines in names: what has a line of its own is a frame of its own") {
  CHECK(written("folded", example()) == "main;f 11\n");
  CHECK(written("folded", example(), {.lines = true}) ==
        "main a.c:10;f b.c:3 5\nmain a.c:12;f b.c:3 2\nmain a.c:12;f b.c:4 4\n");
  Profile same;  // two files of one name
  same.types = {{"live", Unit::bytes}};
  for (const char* file : {"a/x.c", "b/x.c"})
    same.add(same.push({}, "f", FrameKind::user, {}, file, 1), std::array<int64_t, 1>{1});
  CHECK(written("folded", same, {.lines = true}) == "f x.c:1 2\n");
  CHECK(short_place("x.c", 0) == "x.c");
}

TEST_CASE("CSV: source lines are the last column") {
  CHECK(written("csv", example()) ==
        "stack,live (bytes),calls (count),source\r\nmain;f,11,3,/src/a.c:12;/src/b.c:3\r\n");
}

TEST_CASE("a tree has the lines of its nodes, with the figures of each") {
  const Profile p = example();
  const FrameTree tree = frame_tree(p, Neighbours::by_name, width_of(p, WidthOf::shown));
  REQUIRE(tree.size() == 3);
  REQUIRE(tree.lines.frames(1).size() == 2);
  CHECK(p.frames[tree.lines.frames(1)[0]].line == 10);
  CHECK(tree.lines.row(0)[0] == 5);
  CHECK(tree.lines.row(1)[0] == 6);
  CHECK(tree.lines.row(1)[1] == 2);
  const MainLine main = main_line(p, tree.lines, 1, 0);
  CHECK(p.frames[main.frame].line == 12);
  CHECK(main.others == 1);
  CHECK(p.frames[main_line(p, tree.lines, 2, 0).frame].line == 3);
  Profile bare;
  bare.types = {{"live", Unit::bytes}};
  bare.add(bare.push({}, "f"), std::array<int64_t, 1>{1});
  CHECK(frame_tree(bare, Neighbours::by_name, width_of(bare, WidthOf::shown)).lines.empty());
}

TEST_CASE("a page has a node for each line, so that it can draw them") {
  const Profile p = example();
  const FrameTree tree =
      frame_tree(p, Neighbours::by_name, width_of(p, WidthOf::shown), LineNodes::apart);
  for (uint32_t node = 1; node < tree.size(); ++node) CHECK(tree.lines.frames(node).size() == 1);
  CHECK(tree.size() == 6);
  CHECK(tree.frame[1] == tree.frame[3]);
  CHECK(p.frames[tree.lines.frames(1)[0]].line == 10);
  CHECK(p.frames[tree.lines.frames(3)[0]].line == 12);
}

TEST_CASE("in the order of time a box has the lines it was at") {
  Profile p;
  p.types = {{"live", Unit::bytes}};
  p.keep_order();
  for (const uint32_t line : {7U, 8U, 7U}) {
    const StackId f = p.push(p.push({}, "main"), "f", FrameKind::user, {}, "a.c", line);
    p.add(f, std::array<int64_t, 1>{line});
  }
  const FrameTree tree = frame_tree(p, Neighbours::by_time, width_of(p, WidthOf::shown));
  REQUIRE(tree.size() == 3);
  REQUIRE(tree.lines.frames(2).size() == 2);
  CHECK(tree.lines.row(tree.lines.first[2])[0] == 14);
  CHECK(tree.lines.row(tree.lines.first[2] + 1)[0] == 8);
}

TEST_CASE("pages are read back with all lines, SVG with those of boxes that have one") {
  for (const char* format : {"html", "svg"}) {
    CAPTURE(format);
    Profile p = example();
    p.add(p.push(p.push({}, "main", FrameKind::user, "app", "/src/a.c", 10), "g", FrameKind::user,
                 "app", "/src/g.c", 9),
          std::array<int64_t, 2>{1, 1});
    const std::string picture = written(format, p);
    CHECK(written("folded", read_back(picture, true), {.lines = true}) ==
          (std::string_view(format) == "svg"
               ? "main;f 11\nmain;g g.c:9 1\n"
               : "main a.c:10;f b.c:3 5\nmain a.c:10;g g.c:9 1\nmain a.c:12;f b.c:3 2\n"
                 "main a.c:12;f b.c:4 4\n"));
    CHECK(written("folded", read_back(picture, false), {.lines = true}) == "main;f 11\nmain;g 1\n");
    const std::string lines = written(format, p, {.lines = true});
    CHECK(lines.find("mf-lines") != std::string::npos);
    CHECK(written("folded", read_back(lines, false)) ==
          "main a.c:10;f b.c:3 5\nmain a.c:10;g g.c:9 1\nmain a.c:12;f b.c:3 2\n"
          "main a.c:12;f b.c:4 4\n");
  }
}

TEST_CASE("the largest stacks are those of functions, or of lines") {
  Profile p = example();
  p.add(p.push({}, "other"), std::array<int64_t, 2>{6, 1});
  CHECK(written("folded", top_stacks(p, 1)) == "[other stacks: 1] 6\nmain;f 11\n");
  CHECK(written("folded", top_stacks(p, 1, true)) == "[other stacks: 3] 11\nother 6\n");
}

TEST_CASE("the largest stacks are not those of one address") {
  Profile p;
  p.types = {{"live", Unit::bytes}};
  const CodeMappingId file = p.code.add(CodeMapping{"app", "", 0, 0x1000, 0});
  for (const uint64_t address : {1U, 2U}) {
    Frame frame{p.strings.intern("f"), {}, p.strings.intern("a.c"), 7};
    frame.code = p.code.add(CodePlace{file, address});
    p.add(p.stacks.push({}, p.frames.intern(frame)), std::array<int64_t, 1>{4});
  }
  p.add(p.push({}, "other"), std::array<int64_t, 1>{5});
  for (const bool lines : {false, true})
    CHECK(written("folded", top_stacks(p, 1, lines)) == "[other stacks: 1] 5\nf 8\n");
}

TEST_CASE("anonymised: of source files the names stay, not their folders") {
  Profile p = example();
  p.add(p.push({}, "main", FrameKind::user, "app", "/srv/me/a.c", 10),
        std::array<int64_t, 2>{1, 1});
  const Profile plain = transformed(p, {.anonymise = true}, WidthOf::shown);
  CHECK(plain.total(0) == p.total(0));
  const std::string json = written("json", plain);
  CHECK(json.find("\"file\":\"a.c\"") != std::string::npos);
  CHECK(json.find("/srv") == std::string::npos);
  CHECK(json.find("/src") == std::string::npos);
}
