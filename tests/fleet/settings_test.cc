// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/settings.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"

using namespace memflame;

namespace {

Setting read(std::string_view text) { return Setting::read(text, "watch.json"); }

constexpr const char* file = R"(// what to watch
{
  "memory": "128M", /* two
  lines */
  "rules": [
    {
      "name": "checkout",
      "window": 60
    },
    7
  ],
  "off": false
}
)";

std::string problem_of(std::string_view text) {
  try {
    read(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "it was read";
}

}  // namespace

TEST_CASE("values of a file with comments") {
  const Setting all = read(file);
  CHECK(all.get("memory").bytes() == uint64_t{128} << 20U);
  CHECK_FALSE(all.get("off").flag());
  const std::vector<Setting> rules = all.get("rules").list();
  REQUIRE(rules.size() == 2);
  CHECK(rules[0].get("name").text() == "checkout");
  CHECK(rules[0].get("window").seconds() == 60);
  CHECK(rules[0].get("name").texts() == std::vector<std::string>{"checkout"});
  CHECK_FALSE(rules[0].find("labels"));
  CHECK(all.members()[1].first == "rules");
}

TEST_CASE("an error has the line, what is wrong and what is right") {
  const Setting all = read(file);
  const std::vector<Setting> rules = all.get("rules").list();
  CHECK_THROWS_WITH_AS(rules[0].get("window").text(),
                       "watch.json:8: rules[0].window: expected a text in quotes, but it is a "
                       "number",
                       Error);
  // A number is read up to the letter behind it, which may end the line.
  CHECK_THROWS_WITH_AS(rules[1].text(),
                       "watch.json:10: rules[1]: expected a text in quotes, but it is a number",
                       Error);
  CHECK_THROWS_WITH_AS(all.get("memory").seconds(),
                       "watch.json:3: memory: expected a length of time like \"60s\", \"10m\" or "
                       "\"7d\", but it is the text \"128M\"",
                       Error);
  CHECK_THROWS_WITH_AS(rules[0].get("window").number(1, 10),
                       "watch.json:8: rules[0].window: expected a number from 1 to 10", Error);
  CHECK_THROWS_WITH_AS(rules[0].get("outputs"), "watch.json:6: rules[0]: \"outputs\" is missing",
                       Error);
  CHECK_THROWS_WITH_AS(all.allow({"memory", "rule", "off"}),
                       "watch.json:5: rules: there is no such setting; did you mean \"rule\"?",
                       Error);
  CHECK_THROWS_WITH_AS(rules[0].get("name").one_of({"a", "b"}),
                       "watch.json:7: rules[0].name: expected one of a, b, not \"checkout\"",
                       Error);
}

TEST_CASE("what is not JSON is refused with its line") {
  const std::vector<std::pair<std::string, std::string>> texts{
      {"{\n\"a\": 1,\n}", "watch.json:3: "},
      {"", "watch.json:1: "},
      {"{\"a\": 1}\n{", "watch.json:2: "},
      {"{\"a\":\n\n tru }", "watch.json:3: "},
      {"{\"a\": 1,\n\"a\": 2}", "watch.json:2: "}};
  for (const auto& [text, line] : texts) CHECK(problem_of(text).starts_with(line));
  CHECK_THROWS_AS(read(std::string(100'000, '[')), Error);
}

TEST_CASE("a text cannot hide what is behind a zero byte") {
  CHECK_THROWS_AS(read("\"a\\u0000b\"").text(), Error);
}
