// SPDX-License-Identifier: BSD-2-Clause
// SVG and page of timelines.
#include <doctest/doctest.h>

#include <pugixml.hpp>

#include "render/picture/assets.h"
#include "render/picture/caption.h"
#include "render/timeline/svg_plots.h"
#include "tests/render/timeline/made_timeline.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

pugi::xml_document parsed(const std::string& text) {
  pugi::xml_document document;
  const pugi::xml_parse_result result = document.load_string(text.c_str());
  CHECK_MESSAGE(result, result.description());
  return document;
}

size_t count_of(const std::string& text, std::string_view what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("a band per stack below the whole run") {
  const std::string text = written("svg");
  const pugi::xml_document document = parsed(text);
  const pugi::xml_node svg = document.child("svg");
  CHECK(std::string(svg.child("title").text().get()) == "Live bytes over time");
  CHECK(std::string(svg.attribute("role").value()) == "graphics-document");
  CHECK(!svg.child("desc").empty());
  CHECK(count_of(text, "class=\"plot\"") == 1 + 1 + 3);  // whole run, pressure, bands
  CHECK(text.find("deploy &lt;4.1&gt;") != text.npos);
  CHECK(text.find("everything else (2 stacks)") != text.npos);
  CHECK(text.find("<script") == text.npos);
  CHECK(text.find("</script") == text.npos);
  CHECK(text.find('\x1b') == text.npos);
  CHECK(count_of(text, "class=\"shade\"") == 0);
}

TEST_CASE("the range that is shown is shaded in the whole run") {
  Timeline timeline = made_timeline();
  timeline.shown_range = {15, 30};
  timeline.shaded = {{15, 30}};
  const std::string text = written("svg", timeline);
  parsed(text);
  CHECK(count_of(text, "class=\"shade\"") == 1);
  CHECK(text.find("data-from=\"15\" data-to=\"30\"") != text.npos);
  CHECK(text.find("data-from=\"0\" data-to=\"60\"") != text.npos);
}

TEST_CASE("pictures of any width, of counts, and of nothing") {
  Timeline counts = made_timeline();
  std::swap(counts.totals[0], counts.totals[1]);
  counts.shown = counts.totals[0].type;
  for (const int width : {320, 1200, 20'000})
    for (const bool own_scales : {false, true}) {
      const TimelineLooks looks{.width = width, .own_scales = own_scales};
      parsed(written("svg", made_timeline(), looks));
      parsed(written("svg", counts, looks));
    }
  const std::string nothing = written("svg", {});
  parsed(nothing);
  CHECK(nothing.find("nothing was recorded") != nothing.npos);
}

TEST_CASE("one scale for all: height is size") {
  const pugi::xml_document document = parsed(written("svg"));
  std::vector<double> heights;
  for (const pugi::xpath_node& node : document.select_nodes("//*[@class='plot']"))
    heights.push_back(node.node().attribute("data-height").as_double());
  REQUIRE(heights.size() == 5);
  CHECK(heights[2] == doctest::Approx(10 * heights[3]));
}

TEST_CASE("paths: a value holds until the next point, and gaps stay gaps") {
  PlotArea area;
  area.width = 100;
  area.height = 10;
  area.time = {0, 10};
  area.high = 10;
  CHECK(step_path(area, {{0, 0}, {5, 10}}, false) == "M0 10H50V0H100");
  CHECK(step_path(area, {{0, 5}, {5, {}}, {8, 10}}, false) == "M0 5H50M80 0H100");
  CHECK(step_path(area, {{2, 10}}, true) == "M20 10L20 0H100V10Z");
  CHECK(step_path(area, {{0, {}}}, true).empty());
  area.time = {5, 10};
  CHECK(step_path(area, {{0, 0}, {3, 10}, {20, 5}}, false) == "M0 0H100");
}

TEST_CASE("names are cut in the middle") {
  const std::string name = "shop::session::Registry::remember";
  CHECK(fitted(name, 12, 1000) == name);
  const std::string cut = fitted(name, 12, 120);
  CHECK(cut.starts_with("shop"));
  CHECK(cut.ends_with("ber"));
  CHECK(cut.find("…") != cut.npos);
  CHECK(text_width(cut, 12) <= 120);
  CHECK(fitted(name, 12, 0) == "…");
}

TEST_CASE("a page: its policy names its script and its style") {
  const std::string page = written("html");
  CHECK(page.find("default-src 'none'; script-src 'sha256-") != page.npos);
  CHECK(count_of(page, "<script") == 2);
  CHECK(count_of(page, "</script>") == 2);
  CHECK(count_of(page, "<style>") == 1);
  CHECK(page.find(" style=\"") == page.npos);
  CHECK(page.find(asset("timeline.js")) != page.npos);
  CHECK(count_of(page, "class=\"detail end read\" data-line=") == 2 + 1 + 3);
}
