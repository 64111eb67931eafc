// SPDX-License-Identifier: BSD-2-Clause
// The effect of options on a picture.
#include <array>
#include <set>

#include "core/error.h"
#include "render/picture/palette.h"
#include "tests/render/svg_fixture.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

Profile example() {
  Profile p = bytes();
  add(p, {"main", "parse"}, 3000);
  add(p, {"main", "write"}, 1000);
  return p;
}

Profile difference() {
  Profile p;
  p.types = {{"before", Unit::bytes}, {"after", Unit::bytes}, {"delta", Unit::bytes}};
  p.shown = 1;
  add(p, {"main", "grown"}, {1000, 3000, 2000});
  add(p, {"main", "halved"}, {2000, 1000, -1000});
  add(p, {"main", "gone"}, {4000, 0, -4000});
  add(p, {"main", "come"}, {0, 500, 500});
  add(p, {"main", "same"}, {700, 700, 0});
  return p;
}

std::string usage_error(const Profile& p, const RenderOptions& options) {
  try {
    check_render_options(options);
    svg(p, options);
  } catch (const Error& error) {
    CHECK(error.exit_code == ExitCode::usage);
    return error.what();
  }
  return "no error";
}

std::string page(const Profile& p, const RenderOptions& options = {}) {
  std::ostringstream out;
  write_html(out, p, options);
  return out.str();
}

}  // namespace

TEST_CASE("subtitle, height of frames, fonts, what stands before names") {
  const Profile p = example();
  const Picture plain(svg(p));
  CHECK(Picture(svg(p, {.subtitle = "a <b> & c"})).says("a <b> & c"));
  CHECK(count(page(p, {.subtitle = "a <b> & c"}),
              "<p class=\"subtitle\">a &lt;b&gt; &amp; c</p>") == 1);
  const Picture high(svg(p, {.row_height = 40}));
  CHECK(high.box("all").y - high.box("main").y == 40);
  CHECK(plain.box("all").y - plain.box("main").y == 19);
  CHECK(count(page(p, {.row_height = 40}), "\"rowHeight\":40") == 1);
  CHECK(count(svg(p, {.font = "Verdana, Open Sans"}),
              "font-family: Verdana, Open Sans, sans-serif;") == 1);
  CHECK(count(page(p, {.font = "Verdana"}), "\"font\":\"Verdana\"") == 1);
  CHECK(usage_error(p, {.font = "x; } * { fill: url(//evil)"}).find("names of fonts") !=
        std::string::npos);
  CHECK(usage_error(p, {.row_height = 5}).find("height of a frame") != std::string::npos);
  CHECK(count(svg(p, {.name_type = "<Stack>:"}), "<title>&lt;Stack&gt;: main\n") == 1);
  CHECK(count(page(p, {.name_type = "Stack:"}), "\"nameType\":\"Stack:\"") == 1);
}

TEST_CASE("plain counts say what they count") {
  Profile p;
  p.types = {{"samples", Unit::count}};
  add(p, {"main"}, 1204);
  CHECK(Picture(svg(p, {.count_name = "samples"})).box("main").figures[0] ==
        "1,204 samples, 100.0 %");
  CHECK(Picture(svg(p)).box("main").figures[0] == "1,204, 100.0 %");
  CHECK(count(svg(p, {.count_name = "samples"}), "\"word\":\"samples\"") == 1);
  CHECK(Picture(svg(example(), {.count_name = "x"})).box("main").figures[0] ==
        "3.9 KiB (4,000 B), 100.0 %");
}

TEST_CASE("backgrounds by name and by colour, none that hides the text") {
  const Profile p = example();
  CHECK(count(svg(p, {.background = "yellow"}), "stop-color=\"#f2f2c0\"") == 1);
  CHECK(count(svg(p, {.background = "#FFEEDD"}), "stop-color=\"#ffeedd\"") == 2);
  // The same in dark mode, whatever other pictures are on the page.
  CHECK(count(svg(p, {.background = "#FFEEDD"}), "stop-color:") == 0);
  CHECK(count(svg(p), ".memflame:where(:not([data-ground])) .top { stop-color: ") == 1);
  CHECK(count(svg(p, {.background = "#a0a0a0"}), " data-ground=\"mid\"") == 1);
  CHECK(count(page(p, {.background = "#a0a0a0"}), " data-ground=\"mid\"") == 1);
  for (const char* light : {"yellow", "blue", "green", "grey", "#e0e0e0"})
    CHECK(ground_of({.background = light}) == "light");
  CHECK(ground_of({}) == "");
  CHECK(count(page(p, {.background = "grey"}), "\"background\":[\"#f8f8f8\",\"#e8e8e8\"]") == 1);
  CHECK(usage_error(p, {.background = "#101010"}).find("not readable") != std::string::npos);
  for (const char* wrong : {"pink", "#12345", "#12345g", "#1234567", "#-12345"})
    CHECK(usage_error(p, {.background = wrong}).find("is not one of yellow") != std::string::npos);
}

TEST_CASE("narrow boxes by their share of the total") {
  Profile p = bytes();
  add(p, {"wide"}, 9900);
  add(p, {"narrow"}, 100);
  CHECK(Picture(svg(p, {.min_width = 0, .min_percent = 1.01})).rows[1].back().merged);
  CHECK(!Picture(svg(p, {.min_width = 0, .min_percent = 0.99})).rows[1].back().merged);
  CHECK(usage_error(p, {.min_percent = 100}).find("0 % to 100 %") != std::string::npos);
}

TEST_CASE("which end of a name is cut off") {
  Profile p = bytes();
  for (int i = 0; i < 12; ++i)
    add(p, {"beginning_of_a_name_in_the_middle_and_end" + std::to_string(100 + i)}, 1);
  const auto text = [&](Elide elide) { return Picture(svg(p, {.elide = elide})).rows[1][3].text; };
  CHECK(text(Elide::right).starts_with("beginn"));
  CHECK(text(Elide::right).ends_with("…"));
  CHECK(text(Elide::left).starts_with("…"));
  CHECK(text(Elide::left).ends_with("_end103"));
  CHECK(text(Elide::middle).starts_with("beg"));
  CHECK(text(Elide::middle).ends_with("103"));
  for (const Elide elide : {Elide::left, Elide::middle})
    CHECK(text(elide).size() <= text(Elide::right).size() + 1);
  CHECK(count(page(p, {.elide = Elide::middle}), "\"elide\":\"middle\"") == 1);
}

TEST_CASE("neighbours by width") {
  const Profile p = example();
  Profile turned = bytes();
  add(turned, {"a"}, 1);
  add(turned, {"b"}, 2);
  const Picture picture(svg(turned, {.order = Neighbours::by_width}));
  CHECK(picture.rows[1][0].name == "b");
  CHECK(Picture(svg(turned)).rows[1][0].name == "a");
  CHECK(count(page(p, {.order = Neighbours::by_width}), "\"order\":\"width\"") == 1);
}

TEST_CASE("without script, and as a part of a page") {
  const Profile p = example();
  const std::string still = svg(p, {.script = false});
  CHECK(count(still, "<script") == 0);
  CHECK(count(still, "<metadata") == 0);
  CHECK(Picture(still).box("parse").total == 3000);
  // No style of controls, and no room for them. What is elsewhere in a tooltip is below the boxes.
  CHECK(count(still, "mf-tip") == 0);
  CHECK(count(still, "data-bar=\"0\"") == 1);
  CHECK(count(still, "<g class=\"details\">") == 1);
  CHECK(count(svg(p), "<g class=\"details\">") == 0);
  CHECK_THROWS_WITH_AS(page(p, {.script = false}), doctest::Contains("an SVG"), Error);
  CHECK(svg(p, {.fragment = true}).starts_with("<svg "));
  const std::string part = page(p, {.fragment = true});
  for (const char* whole :
       {"<html", "<!DOCTYPE", "<body", "<head>", "<main", "data-alone", "<meta "})
    CHECK(count(part, whole) == 0);
  CHECK(part.starts_with("<div class=\"memflame\">\n<style>"));
  CHECK(part.ends_with("</script>\n</div>\n"));
}

TEST_CASE("functions may have links and texts, which never run anything") {
  const Profile p = example();
  RenderOptions options;
  options.attributes["parse"] = {"https://example.org/?a=1&b=\"2\"", "", "reads <input>"};
  options.attributes["nobody"] = {"https://example.org/nobody", "", ""};
  const std::string text = svg(p, options);
  const Picture picture(text);
  CHECK(picture.box("parse").figures.back() == "reads <input>");
  const auto links = picture.root().select_nodes("//a");
  REQUIRE(links.size() == 1);
  CHECK(std::string(links[0].node().attribute("href").value()) ==
        "https://example.org/?a=1&b=\"2\"");
  CHECK(std::string(links[0].node().attribute("rel").value()) == "noopener noreferrer");
  CHECK(count(text, "nobody") == 0);
  CHECK(count(page(p, options),
              "\"attributes\":{\"parse\":{\"href\":\"https://example.org/?a=1\\u0026b=") == 1);
}

TEST_CASE("a difference: the larger of both states wide, with both figures and signs") {
  Profile p = difference();
  p.meta.notes = {"before 7.5 KiB, after 5.1 KiB: -2.4 KiB (-32.5 %)", "gone: 3.9 KiB in 1 stack"};
  const Picture picture(svg(p));
  CHECK(picture.head[0] == "change -2.4 KiB, -32.5 %");
  CHECK_FALSE(picture.says(p.meta.notes[0]));  // nothing twice
  CHECK(picture.says(p.meta.notes[1]));
  CHECK(picture.says(
      "before 7.5 KiB (7,700 B) · after 5.1 KiB (5,200 B) · change -2.4 KiB (-2,500 B), "
      "-32.5 % in 5 stacks · widths: the larger of before and after"));
  CHECK(picture.box("all").total == 3000 + 2000 + 4000 + 500 + 700);
  CHECK(picture.box("gone").total == 4000);
  CHECK(picture.box("gone").text == "✕ gone");
  CHECK(picture.box("come").text == "★ co…");
  CHECK(picture.box("grown").text == "+ grown");
  CHECK(picture.box("halved").text == "− halved");
  CHECK(picture.box("same").text == "same");
  CHECK(picture.box("gone").figures[1] ==
        "before 3.9 KiB (4,000 B), after 0 B: -3.9 KiB (-4,000 B), -100.0 %, gone");
  CHECK(picture.box("come").figures[1] == "before 0 B, after 500 B: +500 B, new");
  CHECK(picture.box("grown").figures[1] ==
        "before 1000 B, after 2.9 KiB (3,000 B): +2.0 KiB (2,000 B), +200.0 %");
  const Palette palette = palette_by_name("diff");
  CHECK(picture.box("gone").fill == hex(palette.change_colour(-1)));
  CHECK(picture.box("come").fill == hex(palette.change_colour(1)));
  // A caller's colour depends on all of its callees.
  CHECK(picture.box("main").fill == hex(palette.change_colour(-2500.0 / 7700)));
}

TEST_CASE("a difference: other widths, and colours the other way round") {
  const Profile p = difference();
  const auto total = [&](WidthOf of) {
    return Picture(svg(p, {.diff_width = of})).box("all").total;
  };
  CHECK(total(WidthOf::before) == 7700);
  CHECK(total(WidthOf::after) == 5200);
  CHECK(total(WidthOf::both) == 12900);
  CHECK(total(WidthOf::change) == 2000 + 1000 + 4000 + 500);
  CHECK(count(page(p, {.diff_width = WidthOf::change}), "\"diffWidth\":\"delta\"") == 1);
  const Palette palette = palette_by_name("diff");
  const Picture negated(svg(p, {.negate = true}));
  CHECK(negated.box("gone").fill == hex(palette.change_colour(1)));
  CHECK(negated.box("come").fill == hex(palette.change_colour(-1)));
}

TEST_CASE("all that is gone is a picture too") {
  Profile p;
  p.types = {{"before", Unit::bytes}, {"after", Unit::bytes}, {"delta", Unit::bytes}};
  p.shown = 1;
  add(p, {"main", "gone"}, {4000, 0, -4000});
  CHECK(Picture(svg(p)).box("gone").total == 4000);
}

TEST_CASE("figures with signs by their size, coloured by the sign") {
  Profile p = bytes();
  add(p, {"main", "takes"}, 3000);
  add(p, {"main", "gives"}, -1000);
  const Picture picture(svg(p, {.diff_width = WidthOf::size}));
  CHECK(picture.box("gives").total == 1000);
  CHECK(picture.box("main").total == 4000);
  const Palette palette = palette_by_name("diff");
  CHECK(picture.box("gives").fill == hex(palette.change_colour(-1)));
  CHECK(picture.box("takes").fill == hex(palette.change_colour(1)));
  CHECK(picture.box("main").fill == hex(palette.change_colour(0.5)));
  CHECK(picture.box("main").figures[1] == "net 2,000 B");
  CHECK(count(page(p, {.diff_width = WidthOf::size}), "\"net\":true") == 1);
  const std::string text = svg(p, {.diff_width = WidthOf::size, .script = false});
  CHECK(count(text, "only below 0") == 1);
  CHECK(count(text, ">+ takes</text>") == 1);
  CHECK(count(text, ">− gives</text>") == 1);
}

TEST_CASE("hostile texts in every option stay texts") {
  const std::string evil = "</title></script><script>alert(1)</script>]]>\"'&<!--";
  Profile p = example();
  RenderOptions options;
  options.title = options.subtitle = options.name_type = options.count_name = evil;
  options.attributes["parse"] = {"https://x/", "", evil};
  p.types[0].unit = Unit::count;
  for (const std::string& text : {svg(p, options), page(p, options), page(p, {.fragment = true})}) {
    CHECK(count(text, "<script>alert") == 0);
    CHECK(count(text, "</script>") <= 3);
  }
  const Picture picture(svg(p, options));
  CHECK(picture.root().select_nodes("//script").size() == 1);
  CHECK(picture.says(evil));
}
