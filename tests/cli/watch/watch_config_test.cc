// SPDX-License-Identifier: BSD-2-Clause
#include "cli/watch/watch_config.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "cli/rule_request.h"
#include "core/error.h"

using namespace memflame;

namespace {

WatchConfig read(const std::string& text) {
  return read_watch_config(text, "watch.json", "a-host", check_rule);
}

std::string problem_of(const std::string& text) {
  try {
    read(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

constexpr const char* some_outputs =
    R"("outputs": {"files": {"kind": "directory", "folder": "/x"}},)";

std::string with_rule(const std::string& rule) {
  return std::string("{") + some_outputs + "\n\"rules\": [\n" + rule + "]}";
}

bool has(const Arguments& arguments, const std::string& option, const std::string& value) {
  const auto at = std::find(arguments.begin(), arguments.end(), option);
  return at != arguments.end() && at + 1 != arguments.end() && *(at + 1) == value;
}

}  // namespace

TEST_CASE("Go's runtime samples by itself") {
  const WatchConfig config =
      read(with_rule(R"({"name": "a", "match": {"comm": "api"}, "collect": "go"})"));
  CHECK(has(config.rules[0].arguments, "--collect", "go"));
  CHECK_FALSE(config.rules[0].is_governed);
  for (const char* setting : {R"("sample": "512K")", R"("max_overhead": 1)"})
    CHECK(problem_of(with_rule(R"({"name": "a", "match": {"comm": "api"}, "collect": "go", )" +
                               std::string(setting) + "}"))
              .find("samples by itself") != std::string::npos);
}

TEST_CASE("a rule becomes the arguments of a recording") {
  const WatchConfig config = read(std::string(R"({
    "memory": "256M", "max_cpu": 2, "labels": {"stage": "test"},)") +
                                  some_outputs + R"(
    "rules": [
      {"name": "web", "match": {"comm": "nginx"}, "probes": ["alloc", "fault"],
       "max_overhead": 0.5, "window": "10s", "labels": {"version": "${env:V}"}},
      {"name": "rest", "match": {"comm": "redis-server"}, "probes": "brk", "names": false}]})");
  REQUIRE(config.rules.size() == 2);
  const WatchRule& web = config.rules[0];
  CHECK(has(web.arguments, "--comm", "nginx"));
  CHECK(has(web.arguments, "--probes", "alloc,fault"));
  CHECK(has(web.arguments, "--max-overhead", "0.5"));
  CHECK(web.window_seconds == 10);
  CHECK(web.labels == Labels{{"host", "a-host"},
                             {"rule", "web"},
                             {"service", "web"},
                             {"stage", "test"},
                             {"version", "${env:V}"}});
  CHECK(web.outputs == std::vector<std::string>{"files"});
  // Each has its part of the memory.
  CHECK(web.memory == (uint64_t{232} << 20U) / 2);
  CHECK_FALSE(config.rules[1].names);
  CHECK_FALSE(has(config.rules[1].arguments, "--max-overhead", "1"));
}

TEST_CASE("without probes a rule watches the allocator within one percent") {
  const WatchConfig config = read(with_rule(R"({"name": "a", "match": {"comm": "x"}})"));
  CHECK(has(config.rules[0].arguments, "--max-overhead", "1"));
}

TEST_CASE("each mistake has its line and a remedy") {
  const auto problem = [](const std::string& rule) { return problem_of(with_rule(rule)); };
  CHECK(problem(R"({"name": "a", "match": {"com": "x"}})") ==
        "watch.json:3: rules[0].match.com: there is no such setting; did you mean \"comm\"?");
  CHECK(problem(R"({"name": "a", "match": {}})") ==
        "watch.json:3: rules[0].match: it chooses no processes: add comm, program, owner, above, "
        "unit, container, cgroup or pid");
  CHECK(problem(R"({"name": "a/b", "match": {"comm": "x"}})") ==
        "watch.json:3: rules[0].name: 'a/b' is not a name: at most 64 letters, digits, '-' and "
        "'_'");
  CHECK(problem(R"({"name": "a", "match": {"comm": "x"},
                   "probes": "brk", "max_overhead": 1})") ==
        "watch.json:4: rules[0].max_overhead: only the probe alloc has this");
  CHECK(problem(R"({"name": "a", "match": {"comm": "x"}, "sample": "1K", "max_overhead": 1})") ==
        "watch.json:3: rules[0].max_overhead: the rate of samples follows from it: leave out "
        "\"sample\"");
  CHECK(problem(R"({"name": "a", "match": {"comm": "x"}, "window": "0.1s"})") ==
        "watch.json:3: rules[0].window: a window is at least a second and at most a day");
  CHECK(problem(R"({"name": "a", "match": {"comm": "x"}, "outputs": ["store"]})") ==
        "watch.json:3: rules[0].outputs: there is no output 'store'");
  CHECK(problem(R"({"name": "a", "match": {"comm": "x"}, "labels": {"v": "$version"}})")
            .starts_with("watch.json:3: rules[0].labels.v: '$version' is unknown; there are "));
  CHECK(problem(R"({"name": "a", "match": {"comm": "x"}},
                   {"name": "a", "match": {"comm": "y"}})") ==
        "watch.json:4: rules[1].name: there are two rules of this name");
  // What the options of a recording refuse has the line of the rule.
  CHECK(problem(R"({"name": "a", "match": {"comm": "0123456789abcdefg"}})")
            .starts_with("watch.json:3: rules[0]: --comm 0123456789abcdefg: the kernel knows"));
  CHECK(problem(R"({"name": "a", "match": {"comm": "x"}, "probes": "kernel"})") ==
        "watch.json:3: rules[0]: the kernel's own memory belongs to no process of a rule");
  CHECK(problem(R"({"name": "a", "match": {"comm": "x"}, "options": ["-d", "5"]})")
            .starts_with("watch.json:3: rules[0]: a rule has no end"));
}

TEST_CASE("rules need memory") {
  std::string rules;
  for (int i = 0; i < 5; ++i)
    rules += std::string(i == 0 ? "" : ",\n") + R"({"name": "r)" + std::to_string(i) +
             R"(", "match": {"comm": "x"}})";
  CHECK(problem_of(std::string("{\"memory\": \"100M\",\n") + some_outputs + "\"rules\": [" + rules +
                   "]}") == "watch.json:1: memory: 5 rules need at least 264.0 MiB of \"memory\"");
}
