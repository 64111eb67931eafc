// SPDX-License-Identifier: BSD-2-Clause
// Defects of other tools' pictures that no other test covers; see docs/development/defects.md.
#include "tests/render/svg_fixture.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

TEST_CASE("a name that ends in a blank has one box, as leaf and as caller") {
  Profile p = bytes();
  add(p, {"main", "f "}, 10);
  add(p, {"main", "f ", "g"}, 5);
  const Picture picture(svg(p));
  CHECK(picture.rows[2].size() == 1);
  CHECK(picture.box("f ").total == 15);
}

TEST_CASE("a picture does not tell in which order its stacks came") {
  const std::vector<std::vector<std::string>> names{{"main", "b"}, {"main", "a", "c"}, {"idle"}};
  std::vector<std::string> pictures;
  for (const size_t first : {0U, 1U, 2U}) {
    Profile p = bytes();
    for (size_t i = 0; i < names.size(); ++i) {
      StackId stack;
      for (const std::string& name : names[(first + i) % names.size()]) stack = p.push(stack, name);
      p.add(stack, std::vector<int64_t>{5});
    }
    pictures.push_back(svg(p));
    CHECK(pictures.back() == svg(p));
  }
  CHECK(pictures[0] == pictures[1]);
  CHECK(pictures[0] == pictures[2]);
}

TEST_CASE("shares of fractions are shares of what they are, not of what they are rounded to") {
  Profile p;
  p.types = {{"cost", Unit::count, no_column, 1, 1}};  // tenths
  add(p, {"main", "a"}, 4);
  add(p, {"main", "b"}, 3);
  const Picture picture(svg(p));
  CHECK(picture.box("all").figures[0] == "0.7, 100.0 %");
  CHECK(picture.box("a").figures[0] == "0.4, 57.1 %, 57.1 % of parent");
  CHECK(picture.box("b").figures[0] == "0.3, 42.9 %, 42.9 % of parent");
}

TEST_CASE("whatever stands in the head, it stands above the boxes") {
  Profile p = bytes();
  add(p, {"main"}, 5);
  for (const bool icicle : {true, false}) {
    const Picture picture(svg(p, {.icicle = icicle, .subtitle = "of a test"}));
    const auto below = [&](const char* selector) {
      double lowest = 0;
      for (const pugi::xpath_node text : picture.root().select_nodes(selector))
        lowest = std::max(lowest, text.node().attribute("y").as_double());
      return lowest;
    };
    CHECK(picture.says("of a test"));
    const double first = icicle ? picture.box("all").y : picture.box("main").y;
    CHECK(below("*[@class='head']//text") < below("*[@class='legend']//text"));
    CHECK(below("*[@class='legend']//text") < first);
  }
}

TEST_CASE("brackets in names, counts and texts do not shorten a label") {
  Profile p;
  p.types = {{"samples", Unit::count}};
  add(p, {"main(int, char**)", "(anonymous namespace)::f"}, 12);
  RenderOptions options{.count_name = "samples (live)"};
  options.attributes["main(int, char**)"] = {"", "", "where it begins (always)"};
  const Picture picture(svg(p, options));
  const DrawnBox& box = picture.box("main(int, char**)");
  CHECK(box.text == box.name);
  CHECK(box.figures ==
        std::vector<std::string>{"12 samples (live), 100.0 %", "where it begins (always)"});
  CHECK(picture.box("(anonymous namespace)::f").text == "(anonymous namespace)::f");
}

TEST_CASE("a static picture tells the share of all and of the parent, whoever that is") {
  Profile p = bytes();
  add(p, {"main", "parse", "grow"}, 6 << 20);
  add(p, {"main", "parse"}, 2 << 20);
  add(p, {"main"}, 8 << 20);
  const Picture picture(svg(p, {.script = false}));
  CHECK(picture.box("all").figures[0] == "16.0 MiB (16,777,216 B), 4,096 pages, 100.0 %");
  CHECK(picture.box("main").figures ==
        std::vector<std::string>{"16.0 MiB (16,777,216 B), 4,096 pages, 100.0 %",
                                 "self 8,388,608 B"});
  CHECK(picture.box("parse").figures[0] ==
        "8.0 MiB (8,388,608 B), 2,048 pages, 50.0 %, 50.0 % of parent");
  CHECK(picture.box("grow").figures[0] ==
        "6.0 MiB (6,291,456 B), 1,536 pages, 37.5 %, 75.0 % of parent");
}
