// SPDX-License-Identifier: BSD-2-Clause
// CSV, JSON and text of timelines.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "render/text/clean_text.h"
#include "tests/render/timeline/made_timeline.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

std::vector<std::string> rows(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream in(text);
  for (std::string row; std::getline(in, row);) all.push_back(row);
  return all;
}

bool has_row(const std::vector<std::string>& all, const std::string& row) {
  return std::find(all.begin(), all.end(), row) != all.end();
}

}  // namespace

TEST_CASE("the format, else the suffix, else text") {
  CHECK(timeline_output_for("", "").name == "text");
  CHECK(timeline_output_for("", "x.svg").name == "svg");
  CHECK(timeline_output_for("csv", "x.svg").name == "csv");
  CHECK(timeline_output_for("", "x.trace.json").name == "trace");
  try {
    timeline_output_for("", "x.png");
    FAIL("x.png was accepted");
  } catch (const Error& error) {
    CHECK(std::string(error.what()) ==
          "-o x.png: no format is written to '.png' files (there are .txt, .svg, .html, .csv, "
          ".json, .trace.json); name one with --format text, svg, html, csv, json, trace");
  }
}

TEST_CASE("CSV: a row per point") {
  const std::vector<std::string> all = rows(written("csv"));
  CHECK(all.size() == 1 + 4 + 2 + 3 + 2 + 3 + 2 + 2);
  CHECK(all[0] == "seconds,line,value,unit,kind,stack\r");
  CHECK(all[1] == "0,resident,,bytes,system,\r");
  CHECK(has_row(all, "50,pressure,2.50,count,system,\r"));
  CHECK(has_row(all, "60,live,11534336,bytes,total,\r"));
  CHECK(has_row(all, "10,Cache::fill,10485760,bytes,stack,server;main;Cache::fill;malloc\r"));
  CHECK(has_row(all, "10,everything else,1048576,bytes,rest,\r"));
  CHECK(
      has_row(all, "0,\"</script>�[31m�\"\"&'\",0,bytes,stack,\"server;</script>�[31m�\"\"&'\"\r"));
}

TEST_CASE("CSV: only points within the range") {
  Timeline timeline = made_timeline();
  timeline.shown_range = {5, 30};
  const std::vector<std::string> all = rows(written("csv", timeline));
  CHECK(all.size() == 1 + 2 + 0 + 1 + 1 + 1 + 1 + 1);
}

TEST_CASE("trace: counters that viewers of Chrome traces draw") {
  Timeline timeline = made_timeline();
  timeline.bands.push_back(timeline.bands.front());  // two stacks with one label
  const auto json = nlohmann::json::parse(written("trace", timeline));
  std::map<std::string, std::vector<nlohmann::json>> counters;
  for (const auto& event : json["traceEvents"])
    if (event["ph"] == "C") counters[event["name"]].push_back(event);
  CHECK(json["traceEvents"][0]["args"]["name"] == "Live bytes over time");
  REQUIRE(counters.contains("Cache::fill"));
  CHECK(counters["Cache::fill"] != counters["Cache::fill #2"]);
  CHECK(counters["Cache::fill"].size() == counters["Cache::fill #2"].size());
  CHECK(counters["Cache::fill"][1]["ts"] == 10e6);
  CHECK(counters["Cache::fill"][1]["args"] == nlohmann::json({{"bytes", 10485760}}));
  CHECK(counters["pressure"].back()["args"]["count"].is_number_float());
  // A figure that could not be read has no event.
  CHECK(counters["resident"].size() == 2);
  const auto& mark = json["traceEvents"].back();
  CHECK(mark["ph"] == "i");
  CHECK(mark["name"] == "deploy <4.1>");
}

TEST_CASE("JSON: all there is") {
  const auto json = nlohmann::json::parse(written("json"));
  CHECK(json["format"] == "memflame-timeline");
  CHECK(json["title"] == "Live bytes over time");
  CHECK(json["seconds"] == 60);
  CHECK(json["marks"][0]["name"] == "deploy <4.1>");
  REQUIRE(json["lines"].size() == 7);
  CHECK(json["lines"][0]["points"][0] == nlohmann::json({0.0, nullptr}));
  CHECK(json["lines"][1]["decimals"] == 2);
  const auto& band = json["lines"][4];
  CHECK(band["name"] == "Cache::fill");
  CHECK(band["kind"] == "stack");
  CHECK(band["most"] == 10485760);
  CHECK(band["most_at"] == 10);
  CHECK(band["frames"].size() == 4);
  CHECK(band["points"][1] == nlohmann::json({10.0, 10485760}));
  CHECK(json["losses"].contains("ring_full"));
}

TEST_CASE("text: a small chart and figures per line") {
  const std::vector<std::string> all =
      rows(written("text", made_timeline(), {.columns = 80, .utf8 = true}));
  CHECK(all[0] == "Live bytes over time");
  CHECK(all[1] == "memflame record -p 812 · on example · 60.0 s");
  const auto row = [&](std::string_view name) {
    for (const std::string& text : all)
      if (text.starts_with(name) && text.find("▁") + text.find("█") != std::string::npos * 2 &&
          letters(text) > 70)
        return text;
    return std::string();
  };
  const std::string cache = row("Cache::fill");
  CHECK(letters(cache) == 80);
  CHECK(cache.ends_with("       0 B   10.0 MiB    9.0 MiB"));
  CHECK(cache.find("█") != std::string::npos);
  CHECK(has_row(all, "mark at 20 s: deploy <4.1>"));
  for (const std::string& text : all) CHECK(text.find('\x1b') == std::string::npos);
}

TEST_CASE("text: ASCII only, and narrow") {
  for (const int columns : {1, 40, 79, 300}) {
    const std::string text = written("text", made_timeline(), {.columns = columns, .utf8 = false});
    for (const char c : text) CHECK((c == '\n' || (c >= ' ' && c < 127)));
    for (const std::string& row : rows(text))
      if (row.starts_with("live ")) CHECK(row.size() == static_cast<size_t>(std::max(columns, 57)));
  }
}

TEST_CASE("no line, no look") {
  for (const TimelineOutput& output : timeline_outputs()) {
    CHECK(!written(output.name, {}).empty());
    CHECK(!output.help.empty());
  }
  CHECK(nlohmann::json::parse(written("json", {}))["lines"].empty());
}
