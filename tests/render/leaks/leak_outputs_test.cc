// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <pugixml.hpp>
#include <sstream>

#include "core/error.h"
#include "render/leaks/leak_output.h"

using namespace memflame;

namespace {

LeakCase some_case(CaseOutcome outcome, const std::string& function, const std::string& file) {
  LeakCase result;
  result.outcome = outcome;
  result.rule = outcome == CaseOutcome::passed || outcome == CaseOutcome::unsure ? "" : "leak";
  result.verdict = "leak";
  result.sentence = "leak: the process ended and left 1 block";
  if (outcome == CaseOutcome::unsure) {
    result.sentence = "cannot tell yet: nothing from here has been freed";
    result.wait_s = 34.2;
  }
  if (outcome == CaseOutcome::known) result.reason = "the baseline has it";
  result.process = "ser<ver>\x01";
  result.live_bytes = result.leaked_bytes = 812;
  result.live_blocks = result.leaked_blocks = 1;
  result.frames = {{"malloc", "/lib/libc.so.6", "malloc.c", 3, false},
                   {"std::vector<\"a&b\">::grow", "/opt/server", "", 0, false},
                   {function, "/opt/my server", file, file.empty() ? 0U : 42U, false}};
  result.caller = 2;
  return result;
}

LeakCheck some_check() {
  LeakCheck check;
  check.source = "memflame leaks -- ./test";
  check.version = "1.2.3";
  check.seconds = 1.5;
  check.conditions = {"--fail-on leak"};
  check.rules = {{"leak", "blocks that never come back"}};
  check.baseline = "old.mfr";
  check.cases = {some_case(CaseOutcome::failed, "grow]]>", "/src/my app/grow.cc"),
                 some_case(CaseOutcome::failed, "grow]]>", ""),
                 some_case(CaseOutcome::known, "known", "/src/known.cc"),
                 some_case(CaseOutcome::suppressed, "hidden", "/src/hidden.cc"),
                 some_case(CaseOutcome::unsure, "young", "/src/young.cc"),
                 some_case(CaseOutcome::passed, "cached", "/src/cached.cc")};
  check.cases[1].is_worse = true;
  for (const LeakCase& each : check.cases) {
    LeakCheck::Sum& sum = check.sums.at(static_cast<size_t>(each.outcome));
    ++sum.stacks;
    sum.bytes += each.live_bytes;
    sum.blocks += each.live_blocks;
  }
  check.leaked_bytes = 1624;
  check.leaked_blocks = 2;
  check.suppressions = {{"leak:hidden", "a.supp:1", 1, 812, 1}, {"leak:none", "a.supp:2", 0, 0, 0}};
  check.doubts = {"lost 3 events"};
  return cleaned(check);
}

std::string written(void (*write)(std::ostream&, const LeakCheck&), const LeakCheck& check) {
  std::ostringstream out;
  write(out, check);
  return out.str();
}

}  // namespace

TEST_CASE("JUnit has a case per stack, with hostile names escaped") {
  pugi::xml_document document;
  REQUIRE(document.load_string(written(write_leaks_junit, some_check()).c_str()));
  const pugi::xml_node suite = document.child("testsuites").child("testsuite");
  CHECK(suite.attribute("tests").as_int() == 7);  // and one for the sum
  CHECK(suite.attribute("failures").as_int() == 2);
  CHECK(suite.attribute("skipped").as_int() == 3);
  const pugi::xml_node first = suite.child("testcase");
  CHECK(std::string(first.attribute("name").value()) == "grow]]>");
  CHECK(std::string(first.attribute("classname").value()) == "leaks.ser<ver>\xef\xbf\xbd");
  CHECK(std::string(first.child("failure").attribute("type").value()) == "leak");
  CHECK(std::string(first.child("failure").text().get()).find("grow]]>  grow.cc:42 [my server]") !=
        std::string::npos);
  CHECK(std::string(first.next_sibling("testcase").attribute("name").value()) == "grow]]> #2");
  CHECK(std::string(suite.find_child_by_attribute("testcase", "name", "known")
                        .child("skipped")
                        .attribute("message")
                        .value()) == "the baseline has it");
  LeakCheck check = some_check();
  check.most_leaked = 1000;
  REQUIRE(document.load_string(written(write_leaks_junit, check).c_str()));
  const pugi::xml_node sum = document.child("testsuites").child("testsuite").last_child();
  CHECK(std::string(sum.child("failure").attribute("message").value()) ==
        "leaked in all: 1.6 KiB in 2 blocks, more than the 1000 B of --fail-if-leaked");
}

TEST_CASE("SARIF has what code scanning requires of each result") {
  const auto json = nlohmann::json::parse(written(write_leaks_sarif, some_check()));
  CHECK(json["version"] == "2.1.0");
  CHECK(json["$schema"].get<std::string>().find("sarif-2.1.0") != std::string::npos);
  REQUIRE(json["runs"].size() == 1);
  const auto& run = json["runs"][0];
  CHECK(run["tool"]["driver"]["name"] == "memflame");
  CHECK(run["tool"]["driver"]["rules"][0]["id"] == "leak/leak");
  CHECK(run["invocations"][0]["executionSuccessful"] == true);
  CHECK(run["invocations"][0]["exitCode"] == 5);
  CHECK(run["invocations"][0]["toolExecutionNotifications"].size() == 2);  // unsure, lost
  CHECK(run["properties"]["suppressed"]["bytes"] == 812);
  REQUIRE(run["results"].size() == 3);  // what failed, and what is known
  for (const auto& result : run["results"]) {
    CHECK(result["ruleId"] == "leak/leak");
    CHECK(result["ruleIndex"] == 0);
    CHECK_FALSE(result["message"]["text"].get<std::string>().empty());
    REQUIRE(result["locations"].size() == 1);
    const auto& place = result["locations"][0]["physicalLocation"];
    CHECK_FALSE(place["artifactLocation"]["uri"].get<std::string>().empty());
    CHECK(place["region"]["startLine"].get<int>() >= 1);
    CHECK(result["stacks"][0]["frames"].size() == 3);
    CHECK(result["partialFingerprints"].size() == 1);
  }
  const auto& place = run["results"][0]["locations"][0]["physicalLocation"];
  CHECK(place["artifactLocation"]["uri"] == "file:///src/my%20app/grow.cc");
  CHECK(place["region"]["startLine"] == 42);
  CHECK(run["results"][0]["baselineState"] == "new");
  CHECK(run["results"][1]["baselineState"] == "updated");
  CHECK(run["results"][2]["baselineState"] == "unchanged");
  CHECK(run["results"][2]["level"] == "note");
  // The same names make the same fingerprint, and others another.
  CHECK(run["results"][0]["partialFingerprints"] == run["results"][1]["partialFingerprints"]);
  CHECK(run["results"][0]["partialFingerprints"] != run["results"][2]["partialFingerprints"]);
  // Without lines, the file of code.
  CHECK(run["results"][1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] ==
        "file:///opt/my%20server");
}

TEST_CASE("JSON has all stacks, sums and suppressions") {
  const auto json = nlohmann::json::parse(written(write_leaks_json, some_check()));
  CHECK(json["format"] == "memflame-leak-check");
  CHECK(json["failed"] == true);
  CHECK(json["leaked_bytes"] == 1624);
  CHECK(json["sums"]["failed"]["stacks"] == 2);
  CHECK(json["stacks"].size() == 6);
  CHECK(json["stacks"][0]["frames"][2]["line"] == 42);
  CHECK(json["stacks"][1]["worse_than_baseline"] == true);
  CHECK(json["suppressions"][1]["pattern"] == "leak:none");
  CHECK(json["not_certain"][0] == "lost 3 events");
}

TEST_CASE("the text has what failed, and all that was passed over") {
  std::ostringstream out;
  write_leaks_text(out, some_check(), 1);
  const std::string text = out.str();
  CHECK(text.starts_with(
      "memflame: leak check failed (--fail-on leak): 2 stacks, 1.6 KiB in 2 blocks\n\n"
      "  812 B in 1 block, ser<ver>\xef\xbf\xbd\n"
      "    leak: the process ended and left 1 block\n"
      "      malloc  malloc.c:3 [libc.so.6]\n"
      "      grow]]>  grow.cc:42 [my server]\n\n"
      "  and 1 more stack: "));
  for (const char* line :
       {"memflame: cannot tell yet: 1 stack, 812 B in 1 block; watch at least 35 s longer\n",
        "memflame: in the baseline old.mfr already: 1 stack, 812 B in 1 block\n",
        "  1 stack, 812 B in 1 block: leak:hidden (a.supp:1)\n",
        "memflame: unused suppression: leak:none (a.supp:2)\n",
        "memflame: not certain: lost 3 events\n"})
    CHECK_MESSAGE(text.find(line) != std::string::npos, line);
}

TEST_CASE("the suffix of a report decides its form") {
  CHECK(leak_output_for("a/leaks.xml").name == "junit");
  CHECK(leak_output_for("leaks.sarif").name == "sarif");
  CHECK(leak_output_for("leaks.json").name == "json");
  CHECK_THROWS_AS(leak_output_for("leaks.txt"), Error);
  CHECK_THROWS_AS(leak_output_for(".xml"), Error);
}
