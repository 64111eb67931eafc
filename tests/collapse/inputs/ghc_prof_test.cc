// SPDX-License-Identifier: BSD-2-Clause
// Trees by indentation: GHC's reports, Instruments' call trees.
#include <doctest/doctest.h>

#include <cstdint>

#include "tests/collapse/inputs/inputs.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

bool noted(const Profile& profile, const std::string& part) {
  for (const std::string& note : profile.meta.notes)
    if (note.find(part) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("ghc: ticks and bytes of each stack of cost centres") {
  const Profile p = read_data("ghc-prof/bytes.prof");
  CHECK(p.types == std::vector<ValueType>{{"time", Unit::count}, {"alloc", Unit::bytes}});
  CHECK(p.types[p.shown].name == "alloc");
  CHECK(stacks(p) == Stacks{{"MAIN.MAIN", 504},
                            {"MAIN.MAIN;GHC.Conc.Signal.CAF", 640},
                            {"MAIN.MAIN;Main.main", 4508},
                            {"MAIN.MAIN;Main.main;Main.main.grow", 50868}});
  CHECK(p.total(0) == 20);
  CHECK(p.total(1) == 56520);
  CHECK(p.losses.lost_events() == 0);
  CHECK(noted(p, "total alloc =      56,520 bytes"));
  const Profile lines = read_data("ghc-prof/bytes.prof", "", {.lines = true});
  const Frame main = lines.frames[lines.path(lines.touched()[2])[1]];
  CHECK(lines.strings[main.file] == "app/Main.hs");
  CHECK(main.line == 3);
}

TEST_CASE("ghc: percentages only") {
  const Profile p = read_data("ghc-prof/percent.prof");
  CHECK(p.types[1].name == "alloc_percent");
  CHECK(p.types[1].decimals == 1);
  CHECK(stacks(p).at("MAIN.MAIN;Main.main;Main.main.grow") == 900);
  CHECK(p.total(1) == 999);
  CHECK(noted(p, "the report has percentages only"));
}

TEST_CASE("ghc: damaged reports") {
  const std::string tree =
      "COST CENTRE MODULE SRC no. entries  %time %alloc   %time %alloc  ticks     bytes\n\n"
      "MAIN MAIN <built-in> 1 0 0.0 0.9 100.0 100.0 0 504\n";
  const Profile p = read_text(tree + "   deep M m.hs:1:1 2 0 0.0 0.9 0.0 1.0 0 5\nwhat\n");
  CHECK(stacks(p) == Stacks{{"MAIN.MAIN", 504}});
  CHECK(p.losses[Loss::input_line].events == 2);
  CHECK(
      error_of(tree + "A M a.hs:1:1 1 0 0.0 0.9 0.0 1.0 0 9223372036854775808\n").find("64 bits") !=
      std::string::npos);
  CHECK(error_of("Time and Allocation Profiling Report\n").find("no tree of cost centres") !=
        std::string::npos);
  CHECK(recognised("COST CENTRE MODULE %time %alloc\n") != "ghc-prof");
}

TEST_CASE("instruments: what a frame has beyond its callees, to the last decimal") {
  const Profile p = read_data("instruments/deep-copy.txt");
  CHECK(p.types[0].decimals == 2);
  constexpr int64_t mb = int64_t{1} << 20U, kb = int64_t{1} << 10U;
  CHECK(stacks(p) == Stacks{{"main", 42993 * mb - 40050 * mb - 125 * kb},
                            {"main;grow", 50 * mb},
                            {"main;grow;realloc", 40000 * mb},
                            {"main;read", 125 * kb},
                            {"Thread 0x12", 1600}});
  CHECK(p.total(0) == 42993 * mb + 1600);
  CHECK(p.total(1) == 84672);
  CHECK(p.losses.lost_events() == 0);
  const std::string heading = "Bytes Used\tCount\t\tSymbol Name\n";
  CHECK(read_text(heading + " 1 KB\t1\t \tf\n 1.234 KB\t1\t \tg\nx\n")
            .losses[Loss::input_line]
            .events == 2);
  CHECK(error_of(heading + " 92233720368547758 KB\t1\t \tf\n").find("64 bits") !=
        std::string::npos);
  CHECK(recognised(heading) == "instruments");
}

TEST_CASE("xctrace: rows refer to what was said before") {
  const Profile p = read_data("xctrace/time.xml");
  CHECK(stacks(p, "samples") == Stacks{{"main;leaf <T>", 2}, {"main;[unknown]", 1}, {"main", 2}});
  CHECK(stacks(p) ==
        Stacks{{"main;leaf <T>", 2000000}, {"main;[unknown]", 1000000}, {"main", 2000000}});
  CHECK(p.types[p.shown] == ValueType{"time", Unit::nanoseconds});
  CHECK(noted(p, "1 rows have no backtrace"));
  const std::vector<FrameId> path = p.path(p.touched()[0]);
  CHECK(p.strings[p.frames[path[0]].module] == "app");
  CHECK(stacks(read_data("xctrace/time.xml", "", {.addresses = true}), "samples")
            .count("main;0x30") == 1);
  CHECK(error_of("<trace-query-result><row>").find("not valid XML") != std::string::npos);
  CHECK(error_of("<trace-query-result></trace-query-result>").find("no <row>") !=
        std::string::npos);
  CHECK(recognised("<?xml version=\"1.0\"?>\n<trace-query-result>\n") == "xctrace");
}

TEST_CASE("xctrace: cycles of the CPU Profiler, rows without a backtrace") {
  const Profile p = read_text(
      "<trace-query-result><node><row><cycle-weight id=\"1\" fmt=\"1 Mc\">1000000</cycle-weight>"
      "<tagged-backtrace id=\"2\"><backtrace id=\"3\"><frame id=\"4\" name=\"f\" addr=\"0x1\"/>"
      "</backtrace></tagged-backtrace></row><row><cycle-weight ref=\"1\"/>"
      "<tagged-backtrace ref=\"2\"/></row><row><cycle-weight id=\"5\">7</cycle-weight><sentinel/>"
      "</row><row><weight id=\"6\">9</weight><backtrace ref=\"3\"/></row></node>"
      "</trace-query-result>");
  CHECK(p.types == std::vector<ValueType>{{"samples", Unit::count}, {"cycles", Unit::count}});
  CHECK(stacks(p) == Stacks{{"f", 2000000}});
  CHECK(stacks(p, "samples") == Stacks{{"f", 3}});
  CHECK(p.meta.notes == std::vector<std::string>{"1 rows have no backtrace",
                                                 "1 rows do not tell cycles as the others do"});
}

TEST_CASE("a tree that has lost its indentation is an error, not a list") {
  std::string text = file_text(std::string(TEST_DATA) + "/inputs/ghc-prof/bytes.prof"), flat;
  for (size_t at = 0; at < text.size(); ++at)
    if (text[at] != ' ' || (!flat.empty() && flat.back() != '\n')) flat += text[at];
  CHECK(error_of(flat).find("the tree has a second root: its indentation is lost") !=
        std::string::npos);
}
