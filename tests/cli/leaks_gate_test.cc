// SPDX-License-Identifier: BSD-2-Clause
#include "cli/leaks/leaks_gate.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "cli/leaks/leaks_lines.h"
#include "cli/leaks_options.h"
#include "cli/options.h"
#include "core/error.h"

using namespace memflame;

namespace {

boost::program_options::variables_map parsed(const Arguments& arguments) {
  boost::program_options::options_description options;
  options.add(verdict_options()).add(gate_options());
  return parse("leaks", arguments, options);
}

std::optional<LeaksGate> gate_of(const Arguments& arguments) {
  const auto values = parsed(arguments);
  return read_gate(values, read_verdict_options(values));
}

VerdictOptions verdicts_of(const Arguments& arguments) {
  return read_verdict_options(parsed(arguments));
}

}  // namespace

TEST_CASE("options of verdicts take units, and refuse nonsense") {
  const VerdictOptions options =
      verdicts_of({"--min-bytes", "64K", "--min-blocks", "3", "--tail", "5%", "--warmup", "1m30s"});
  CHECK(options.min_bytes == 65536);
  CHECK(options.min_blocks == 3);
  CHECK(options.tail == doctest::Approx(0.05));
  CHECK(options.warmup_ns == 90'000'000'000);
  CHECK(verdicts_of({"--tail", "0.1"}).tail == doctest::Approx(0.1));
  for (const Arguments& wrong : {Arguments{"--tail", "60%"},
                                 {"--tail", "-1%"},
                                 {"--tail", "2 %"},
                                 {"--tail", "%"},
                                 {"--warmup", "soon"},
                                 {"--min-bytes", "few"}})
    CHECK_THROWS_AS(verdicts_of(wrong), Error);
}

TEST_CASE("a gate needs something that can fail") {
  CHECK_FALSE(gate_of({}));
  CHECK_FALSE(gate_of({"--min-bytes", "1"}));
  for (const Arguments& wrong : {Arguments{"--report", "a.xml"},
                                 {"--suppress", "a"},
                                 {"--baseline", "a"},
                                 {"--min-rate", "1M/h"},
                                 {"--no-builtin-suppressions"},
                                 {"--min-rate", "1M/h", "--fail-if-leaked", "0"},
                                 {"--fail-on", "leaks"},
                                 {"--fail-on", "leak,"},
                                 {"--fail-on", ""},
                                 {"--fail-on", "leak", "--report", "a.txt"},
                                 {"--fail-on", "leak", "--min-rate", "1M"},
                                 {"--fail-on", "leak", "--min-rate", "1M/y"},
                                 {"--fail-on", "leak", "--min-rate", "/h"},
                                 {"--fail-if-leaked", "much"}})
    CHECK_THROWS_AS(gate_of(wrong), Error);
}

TEST_CASE("rates, words and floors become options of the gate") {
  const std::optional<LeaksGate> gate =
      gate_of({"--fail-on", "exponential,leak", "--fail-on", "linear", "--min-rate", "7200K/h",
               "--fail-if-leaked", "4K", "--min-bytes", "100"});
  REQUIRE(gate);
  REQUIRE(gate->options.fail_on.size() == 3);
  CHECK(gate->options.fail_on[0].word == "leak");  // in the table's order
  CHECK(gate->options.min_rate == doctest::Approx(2048));
  CHECK(gate->options.most_leaked == 4096);
  CHECK(gate->options.has_given_floor);
  CHECK(gate->options.min_bytes == 100);
  CHECK(gate->options.min_blocks == 0);
  CHECK(gate->conditions == std::vector<std::string>{"--fail-on exponential,leak",
                                                     "--fail-on linear", "--fail-if-leaked 4K",
                                                     "--min-rate 7200K/h"});
  CHECK(gate_of({"--fail-on", "leak", "--min-rate", "60/min"})->options.min_rate ==
        doctest::Approx(1));
}

TEST_CASE("a report is one line of JSON with exact bytes") {
  LeaksReport report;
  report.clock = "16:30:01";
  report.seconds = 5;
  report.live = report.old = {4096 + 30000, 11, 0, 0};
  report.stacks = 1;
  report.losses.add(Loss::ring_full, 3, 100);
  ReportedStack& stack = report.top.emplace_back();
  stack.amount = {30000, 10, 0, 0};
  stack.process = "ser\"ver\n (12)";
  stack.frames = {"malloc", "main\xff"};
  stack.judged = Verdict{};
  stack.judged->kind = VerdictKind::leak;
  stack.judged->survivors = 7;
  const std::string line = report_line(report);
  CHECK(line.find('\n') == line.size() - 1);
  const auto json = nlohmann::json::parse(line);
  CHECK(json["live"]["bytes"] == 34096);
  CHECK(json["lost_events"] == 3);
  CHECK(json["top"][0]["blocks"] == 10);
  CHECK(json["top"][0]["verdict"]["kind"] == "leak");
  CHECK(json["top"][0]["verdict"]["survivors"] == 7);
  CHECK(json["top"][0]["process"] == "ser\"ver\xef\xbf\xbd (12)");
  CHECK(json["top"][0]["frames"][1] == "main\xef\xbf\xbd");
}
