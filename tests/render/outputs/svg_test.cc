// SPDX-License-Identifier: BSD-2-Clause
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <set>

#include "render/picture/palette.h"
#include "tests/render/svg_fixture.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

Profile random_profile(int stacks) {
  std::minstd_rand random(3);
  Profile p = bytes();
  for (int i = 0; i < stacks; ++i) {
    StackId top = p.push({}, "main");
    for (int depth = 0; depth < 9; ++depth)
      top = p.push(top, "ns::function_" + std::to_string(random() % (depth < 4 ? 12U : 40U)));
    p.add(top, std::array{static_cast<int64_t>(random() % 4096 + 4096)});
  }
  return p;
}

// Invariants of every picture before anything is clicked.
void check_geometry(const Picture& picture, const RenderOptions& options) {
  bool inside = true, in_caller = true, readable = true;
  int64_t leaves = 0;
  for (size_t depth = 0; depth < picture.rows.size(); ++depth) {
    int64_t reached = 0;
    for (const DrawnBox& box : picture.rows[depth]) {
      inside = inside && box.offset >= reached && box.x >= 12 &&
               box.x + box.width <= options.width - 12 + 0.02;
      reached = box.offset + box.total;
      int64_t callees = 0;
      if (depth + 1 < picture.rows.size())
        for (const DrawnBox& callee : picture.rows[depth + 1])
          if (callee.offset >= box.offset && callee.offset < reached) {
            callees += callee.total;
            in_caller =
                in_caller && callee.offset + callee.total <= reached && callee.x >= box.x - 0.01;
          }
      in_caller = in_caller && callees <= box.total;
      leaves += box.total - callees;
      // DejaVu Sans Mono, the widest of the fonts in picture.css, is 0.602 em wide; "…" is one
      // letter.
      size_t letters = 0;
      for (const char c : box.text) letters += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
      readable = readable && static_cast<double>(letters) * 0.602 * options.font_size <= box.width;
    }
  }
  CHECK(inside);
  CHECK(in_caller);
  CHECK(readable);
  CHECK(leaves == picture.rows[0][0].total);
}

}  // namespace

TEST_CASE("boxes: place, size, text and exact figures") {
  Profile p;
  p.types = {{"live", Unit::bytes}, {"live-count", Unit::count}, {"total", Unit::bytes}};
  p.add(p.push(p.push({}, "main"), "parse", FrameKind::user, "/usr/lib/libjson.so.2"),
        std::array<int64_t, 3>{1610612736, 12001, 1610612737});
  add(p, {"main"}, {536870912, 0, 0});
  const Picture picture(svg(p));
  REQUIRE(picture.rows.size() == 3);
  const DrawnBox& all = picture.box("all");
  CHECK(all.total == 2147483648);
  CHECK(all.x == 12);
  CHECK(all.width == doctest::Approx(1176 - 0.8));
  const DrawnBox& parse = picture.box("parse");
  CHECK(parse.text == "parse");
  CHECK(parse.width == doctest::Approx(1176 * 0.75 - 0.8));
  CHECK(parse.figures == std::vector<std::string>{
                             "1.5 GiB (1,610,612,736 B), 393,216 pages, 75.0 %, 75.0 % of parent",
                             "live blocks 12,001", "in total 1,610,612,737 B", "libjson.so.2"});
  CHECK(picture.box("main").figures[1] == "self 536,870,912 B");
  check_geometry(picture, {});
}

TEST_CASE("pages are shown as pages and bytes, and what was released beside them") {
  Profile p;
  p.types = {{"gained", Unit::pages}, {"released", Unit::pages}};
  add(p, {"main", "touch"}, {30826, 12});
  add(p, {"main", "release"}, {-10, 10});
  const Picture picture(svg(p));
  CHECK(picture.box("touch").figures ==
        std::vector<std::string>{
            "30,826 pages (120.4 MiB, 126,263,296 B), 100.0 %, 100.0 % of parent",
            "released 12 pages"});
  CHECK(picture.box("main").figures[1] == "net 30,816 pages");
  CHECK(
      picture.says("gained 30,826 pages (120.4 MiB, 126,263,296 B) in 1 stack · released 22 pages "
                   "(88.0 KiB, 90,112 B)"));
  CHECK(picture.says(
      "not drawn: -10 pages (-40.0 KiB, -40,960 B) in 1 stack that gave back more than "
      "they took"));
}

TEST_CASE("estimated figures carry their errors; variances are not drawn") {
  Profile p;
  p.types = {{"gained", Unit::pages, 2, 16.0},
             {"released", Unit::pages, 3, 1.0},
             {"gained variance", Unit::variance},
             {"released variance", Unit::variance}};
  p.meta.sampling = "1 in 97 faults";
  add(p, {"main", "touch"}, {30826, 12, 9000000, 4});
  add(p, {"main", "read"}, {10000, 0, 16000000, 0});
  const Picture picture(svg(p));
  CHECK(picture.box("touch").figures ==
        std::vector<std::string>{"30,826 pages (± 12,000 pages), 75.5 %, 75.5 % of parent",
                                 "released 12 pages (± 2 pages)"});
  CHECK(picture.box("main").figures[0] == "40,826 pages (± 20,000 pages), 100.0 %");
  CHECK(
      picture.says("gained 40,826 pages (± 20,000 pages) in 2 stacks · released 12 pages "
                   "(± 2 pages)"));
  CHECK(picture.says("estimated from samples (1 in 97 faults); ± is one standard error"));
}

TEST_CASE("the root is at the bottom of a flame graph and at the top of an icicle graph") {
  Profile p = bytes();
  add(p, {"main", "f"}, 1);
  const Picture flame(svg(p));
  CHECK(flame.box("all").y > flame.box("main").y);
  CHECK(flame.box("main").y > flame.box("f").y);
  CHECK(flame.box("all").y == flame.box("f").y + 38);
  const Picture icicle(svg(p, {.icicle = true}));
  CHECK(icicle.box("all").y == icicle.box("f").y - 38);
}

TEST_CASE("title, subtitle and losses") {
  Profile p = bytes();
  add(p, {"main"}, 124675686);
  p.meta.command = "memflame alloc -p 812";
  p.meta.host = "web-3";
  p.meta.seconds = 60;
  p.meta.reconciliation = {{"VmRSS growth", 124675686, 126249103}};
  const Picture picture(svg(p, {.title = "Mine"}));
  CHECK(picture.head[0] == "Mine");
  CHECK(std::string(picture.root().child_value("title")) == "Mine");
  CHECK(picture.says("captured 118.9 MiB of 120.4 MiB VmRSS growth (98.8 %); lost 0"));
  p.losses.add(Loss::ring_full, 3, 10);
  CHECK(picture.head[1] == "live 118.9 MiB · 60.0 s · lost 0 · 1 stack");
  const Picture lossy(svg(p));
  CHECK(lossy.head[0] == "live 118.9 MiB");
  CHECK(lossy.head[1] == "60.0 s · lost 3 (10 B) · 1 stack");
  CHECK(lossy.head[2] == "lost: ring buffer full 3 (10 B)");
  p.meta.title = "heaptrack";
  p.meta.command = "heaptrack /opt/bin/server --port 80";
  CHECK(Picture(svg(p)).head[0] == "live 118.9 MiB · server");
  p.meta.command = "";
  CHECK(Picture(svg(p)).head[0] == "live 118.9 MiB · heaptrack");
}

TEST_CASE("nothing captured is a picture that says so, with its losses") {
  Profile p = bytes();
  p.losses.add(Loss::live_table_full, 17, 4096);
  const std::string text = svg(p);
  const Picture picture(text);
  CHECK(picture.rows.empty());
  CHECK(count(text, ">nothing was captured<") == 1);
  CHECK(picture.says("lost: live table full 17 (4.0 KiB, 4,096 B)"));
}

TEST_CASE("hostile names stay names in every place") {
  const std::vector<std::string> names{"<script>alert(1)</script>",
                                       "]]></script><script>alert(1)</script>",
                                       "\"/><image href=\"x\" onerror=\"alert(1)\"/>",
                                       "</title></svg>",
                                       "&lt; &amp; &#x41; &nbsp;",
                                       "<!-- -- --> <![CDATA[",
                                       "'\"` ${x} {{x}} %s %n",
                                       "  two  blanks  "};
  Profile p;
  p.types = {{"live", Unit::bytes}, {"<b>\"'&", Unit::count}};
  for (const std::string& name : names) {
    p.add(p.push(p.push({}, name), name, FrameKind::kernel, name), std::array<int64_t, 2>{100, 1});
    p.meta.notes.push_back(name);
  }
  p.meta.command = p.meta.host = names[1];
  const std::string text = svg(p, {.title = names[1]});
  const Picture picture(text);
  for (const std::string& name : names) {
    CHECK(picture.box(name).total == 100);
    CHECK(picture.says(name));
  }
  CHECK(picture.head[0] == names[1]);
  // Only our own elements, and no attribute that could run or fetch something.
  std::set<std::string> elements, attributes;
  for (const pugi::xpath_node node : picture.root().select_nodes("//*")) {
    elements.insert(node.node().name());
    for (const pugi::xml_attribute attribute : node.node().attributes())
      attributes.insert(attribute.name());
  }
  CHECK(elements == std::set<std::string>{"defs", "desc", "g", "linearGradient", "metadata", "rect",
                                          "script", "stop", "style", "svg", "text", "title"});
  for (const std::string& attribute : attributes) {
    CHECK(!attribute.starts_with("on"));
    CHECK(attribute.find("href") == std::string::npos);
  }
  CHECK(picture.root().select_nodes("//script").size() == 1);
  // Scripts and styles are the same in every picture: names are not part of them.
  Profile harmless = bytes();
  add(harmless, {"main"}, 1);
  const Picture other(svg(harmless));
  CHECK(std::string(picture.root().child("script").child_value()) ==
        other.root().child("script").child_value());
  CHECK(std::string(picture.root().child_value("style")) == other.root().child_value("style"));
}

TEST_CASE("bytes that are not text are replaced, and the picture says how many") {
  Profile p = bytes();
  add(p,
      {"a\x01"
       "b\xff",
       ""},
      1);
  const Picture picture(svg(p));
  CHECK(picture
            .box("a\xEF\xBF\xBD"
                 "b\xEF\xBF\xBD")
            .total == 1);
  CHECK(picture.box("(no name)").total == 1);
  CHECK(picture.says("also counted: bytes replaced that are not valid text 2"));
}

TEST_CASE("narrow boxes are merged into one that says what it stands for") {
  Profile p = bytes();
  add(p, {"main", "wide"}, 10000000);
  for (int i = 0; i < 37; ++i) add(p, {"main", "narrow" + std::to_string(i)}, 300);
  const Picture picture(svg(p));
  const DrawnBox& merged = picture.box("(+37 frames, 10.8 KiB)");
  CHECK(merged.merged);
  CHECK(merged.total == 11100);
  CHECK(merged.figures[0] == "10.8 KiB (11,100 B), 3 pages, 0.1 %, 0.1 % of parent");
  check_geometry(picture, {});
  CHECK(Picture(svg(p, {.min_width = 0})).rows[2].size() == 38);
}

TEST_CASE("kinds have their colours, and the legend has those that occur") {
  Profile p = bytes();
  p.add(p.push(p.push({}, "k", FrameKind::kernel), "[lost: ring buffer full]", FrameKind::note),
        std::array<int64_t, 1>{1});
  const std::string text = svg(p);
  const Picture picture(text);
  const Palette palette = palette_by_name("code");
  CHECK(picture.box("k").fill == hex(palette.colour("k", BoxKind::kernel)));
  CHECK(picture.box("[lost: ring buffer full]").fill ==
        hex(palette.colour("[lost: ring buffer full]", BoxKind::lost)));
  CHECK(count(text, ">kernel</text>") == 1);
  CHECK(count(text, ">cut short or lost</text>") == 1);
  CHECK(count(text, ">JIT code</text>") == 0);
  CHECK(Picture(svg(p, {.palette = "blue"})).box("k").fill ==
        hex(palette_by_name("blue").colour("k", BoxKind::kernel)));
}

TEST_CASE("figures beyond what a double can count") {
  Profile p = bytes();
  add(p, {"odd"}, (int64_t{1} << 60) + 1);
  add(p, {"one"}, 1);
  const Picture picture(svg(p, {.min_width = 0}));
  CHECK(picture.box("odd").total == (int64_t{1} << 60) + 1);
  CHECK(picture.box("one").offset == (int64_t{1} << 60) + 1);
  CHECK(picture.box("all").total == (int64_t{1} << 60) + 2);
}

TEST_CASE("letters outside ASCII are never torn, and have room") {
  Profile p = bytes();
  const std::string wide = "漢字の関数名がとても長い場合";
  for (int i = 0; i < 20; ++i) add(p, {wide + std::to_string(i)}, i + 1);
  const Picture picture(svg(p));
  for (const DrawnBox& box : picture.rows[1]) {
    if (box.text.empty()) continue;
    const std::string kept =
        box.text.ends_with("…") ? box.text.substr(0, box.text.size() - 3) : box.text;
    CHECK(box.name.starts_with(kept));
    // Three bytes and one em each.
    CHECK(static_cast<double>(kept.size()) / 3 * 12 <= box.width);
  }
}

TEST_CASE("ten thousand frames deep") {
  Profile p = bytes();
  StackId top;
  for (int i = 0; i < 10000; ++i) top = p.push(top, "f" + std::to_string(i % 3));
  p.add(top, std::array<int64_t, 1>{5});
  // As many boxes as a browser can take: the outermost, and merged ones.
  CHECK(Picture(svg(p, {.script = false})).rows.size() == RenderOptions{}.max_boxes + 2);
  CHECK(Picture(svg(p)).rows.size() == RenderOptions{}.max_boxes / 2 + 2);
  CHECK(Picture(svg(p, {.max_boxes = 20001})).rows.size() == 10001);
  CHECK(Picture(svg(p, {.max_depth = 50})).rows.size() == 50);
}

TEST_CASE("a hundred thousand boxes: small, and right") {
  const Profile p = random_profile(22000);
  const RenderOptions options{.min_width = 0.001, .max_boxes = SIZE_MAX};
  const std::string text = svg(p, options);
  const size_t boxes = count(text, "data-o=");
  CHECK(boxes > 100000);
  CHECK(text.size() / boxes < 250);
  const Picture picture(text);
  CHECK(picture.rows[0][0].total == p.total(0));
}

TEST_CASE("no more boxes than a browser can take: the narrowest are merged, sums stay") {
  const Profile p = random_profile(22000);
  const std::string text = svg(p, {.min_width = 0, .max_boxes = 500});
  CHECK(count(text, "data-o=") < 1000);  // each of them may have one for what is merged
  CHECK(count(text, "class=\"merged\"") > 0);
  const Picture picture(text);
  CHECK(picture.rows[0][0].total == p.total(0));
  check_geometry(picture, {});
}

TEST_CASE("geometry holds at other sizes") {
  const Profile p = random_profile(300);
  for (const RenderOptions& options :
       std::initializer_list<RenderOptions>{{},
                                            {.icicle = true},
                                            {.width = 400},
                                            {.width = 3000, .font_size = 20},
                                            {.min_width = 0, .font_size = 8}})
    check_geometry(Picture(svg(p, options)), options);
}

// Pins the looks: colours, places, texts. Blessed when they are changed on purpose.
TEST_CASE("golden: a small picture without its script and style") {
  Profile p;
  p.types = {{"live", Unit::bytes}, {"live-count", Unit::count}};
  p.meta = {.title = "Golden",
            .command = "memflame alloc -p 1",
            .host = "host",
            .seconds = 1.5,
            .reconciliation = {{"VmRSS growth", 5000, 5120}},
            .notes = {"a note"}};
  p.losses.add(Loss::ring_full, 1, 80);
  const StackId main = p.push(p.push({}, "server", FrameKind::process), "main");
  p.add(p.push(main, "a_name_too_long_for_its_box"), std::array<int64_t, 2>{420, 3});
  p.add(p.push(main, "inlined", FrameKind::inlined), std::array<int64_t, 2>{4500, 9});
  p.add(p.push({}, "[lost: ring buffer full]", FrameKind::note), std::array<int64_t, 2>{80, 1});
  std::string text = svg(p);
  // zlib's versions pack the same data in different ways.
  for (const std::string element : {"style", "script", "metadata class=\"mf-data\""}) {
    const size_t begin = text.find("<" + element + ">");
    const std::string closing = "</" + element.substr(0, element.find(' ')) + ">\n";
    text.erase(begin, text.find(closing, begin) + closing.size() - begin);
  }
  const std::string path = TEST_DATA "/render/small.svg";
  if (std::getenv("MEMFLAME_BLESS") != nullptr) std::ofstream(path) << text;
  std::ifstream file(path);
  const std::string golden{std::istreambuf_iterator<char>(file), {}};
  CHECK_MESSAGE(text == golden, "differs from " << path << "; MEMFLAME_BLESS=1 writes it anew");
}

TEST_CASE("marks of leaks: a stripe on each box to the leak, and a flag; foreign text is text") {
  Profile p = bytes();
  const StackId main = p.push({}, "main");
  p.add(p.push(main, "cache"), std::array<int64_t, 1>{97000});
  const StackId leak = p.push(main, "<script>alert(1)</script>");
  p.add(leak, std::array<int64_t, 1>{3000});
  const std::string plain = svg(p, {.script = false});
  CHECK(count(plain, "class=\"marks\"") == 0);
  p.marks = {{leak, VerdictKind::leak, true, 19558, "leak: </title><script>x</script>\x01",
              "<script>alert(1)</script>"}};
  for (const bool script : {false, true}) {
    const std::string text = svg(p, {.script = script});
    const Picture picture(text);
    const pugi::xml_node marks = picture.root().select_node("//*[@class='marks']").node();
    REQUIRE(marks);
    CHECK(marks.select_nodes(".//*[@class='flag']").size() == 1);
    CHECK(std::string(marks.select_node(".//*[@class='flag']").node().child_value()) ==
          "leak 19.1 KiB/s");
    // Two rectangles for the stripe on main, two for the outline of the leak, two for the flag.
    CHECK(marks.select_nodes(".//*[local-name()='rect']").size() == 6);
    CHECK(count(text, "<script") == (script ? 1 : 0));
    CHECK(picture.head[2].starts_with("leak: </title><script>x</script>"));
    CHECK(picture.box("<script>alert(1)</script>").figures.back().starts_with("leak: </title>"));
    // The flag has a row of its own above the boxes, so it does not lie over the head.
    const double top = picture.rows.back()[0].y;
    for (const pugi::xpath_node rect : marks.select_nodes(".//*[local-name()='rect']"))
      CHECK(rect.node().attribute("y").as_double() >= top - 19.01);
  }
}
