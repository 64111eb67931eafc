// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/collapse/inputs/inputs.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

bool has_note(const Profile& p, std::string_view part) {
  return std::any_of(p.meta.notes.begin(), p.meta.notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

std::string page(const std::string& data, const std::string& title = "flamegraph report") {
  return "\n<!DOCTYPE html>\n<title>memray - " + title +
         "</title>\n<script>\n    const packed_data = " + data + ";\n    const inverted = false;\n";
}

// Three nodes: the root, f of a.py that has it all, and g.
std::string nodes(const std::string& children, const std::string& value,
                  const std::string& function = "[0,1,2]") {
  return R"({"nodes":{"children":)" + children + R"(,"filename":[0,3,3],"function":)" + function +
         R"(,"lineno":[0,4,5],"n_allocations":[3,3,1],"name":[0,1,2],"thread_id":[0,0,0],"value":)" +
         value + R"(},"strings":["merged thread","f","g","a.py"]})";
}

bool is_refused(const std::string& text, const std::string& why) {
  const std::string error = error_of(text);
  const bool found = error.find(why) != std::string::npos;
  CHECK_MESSAGE(found, error);
  return found;
}

}  // namespace

TEST_CASE("memray-page: figures of a page include callees, those of a stack do not") {
  const Profile p = read_data("memray-page/peak.html");
  const std::string run = "<module>;run";
  CHECK(stacks(p) ==
        Stacks{
            {"[no stack]", 64}, {run, 100}, {run + ";load", 5000001024}, {run + ";<listcomp>", 8}});
  CHECK(stacks(p, "allocations") ==
        Stacks{{"[no stack]", 1}, {run, 2}, {run + ";load", 4}, {run + ";<listcomp>", 1}});
  CHECK(p.total(0) == 5000001196);
  CHECK(p.types[p.shown] == ValueType{"bytes", Unit::bytes});
  CHECK(p.meta.title == "memray: flamegraph report");
  CHECK(p.meta.command == "main.py --name 'a & b'");
  CHECK(p.losses.lost_events() == 0);
  const Profile lines = read_data("memray-page/peak.html", "", {.lines = true});
  const Frame& last = lines.frames[lines.path(lines.touched().back()).back()];
  CHECK(lines.strings[last.file] == "/srv/a'b & c.py");
  CHECK(last.line == 3);
}

TEST_CASE("memray-page: over time, the highest peak or what was not freed") {
  const Profile peak = read_data("memray-page/temporal.html");
  CHECK(stacks(peak, "peak") == Stacks{{"<module>;run;load", 1100}});
  CHECK(stacks(peak, "peak_allocations") == Stacks{{"<module>;run;load", 5}});
  const Profile leaks = read_data("memray-page/temporal-leaks.html");
  CHECK(stacks(leaks, "leaked") == Stacks{{"<module>;run;load", 100}});
  CHECK(stacks(leaks, "leaked_allocations") == Stacks{{"<module>;run;load", 1}});
}

TEST_CASE("memray-page: threads are apart, and named if asked for") {
  CHECK(stacks(read_data("memray-page/threads.html")) == Stacks{{"<module>;run;load", 30}});
  CHECK(stacks(read_data("memray-page/threads.html", "", {.tid = true})) ==
        Stacks{{"0x12 (worker);<module>;run;load", 10}, {"0x13;<module>;run;load", 20}});
}

TEST_CASE("memray-page: leaks have columns of their own") {
  const std::string data = nodes("[[1],[2],[]]", "[9,9,4]");
  CHECK(recognised(page(data)) == "memray-page");
  CHECK(stacks(read_text(page(data))) == Stacks{{"f", 5}, {"f;g", 4}});
  CHECK(stacks(read_text(page(data, "flamegraph report (memory leaks)")), "leaked") ==
        Stacks{{"f", 5}, {"f;g", 4}});
}

TEST_CASE("memray-page: other pages, damage and hostile data") {
  const std::string whole = page(nodes("[[1],[2],[]]", "[9,9,4]"));
  CHECK(is_refused(page("{}", "inverted flamegraph report"), "without --inverted"));
  std::string inverted = whole;
  inverted.replace(inverted.find("= false"), 7, "= true");
  CHECK(is_refused(inverted, "without --inverted"));
  CHECK(is_refused(page("[]", "table report"), "a page of memray without stacks (table report)"));
  CHECK(is_refused("<!DOCTYPE html>\n<title>memray - flamegraph report</title>\nconst data = {}\n",
                   "before 1.7"));
  CHECK(is_refused(whole.substr(0, whole.find(";\n")), "ends in the middle"));
  CHECK(is_refused(page("{}"), "has no nodes"));
  CHECK(is_refused(page("[]"), "is not an object"));
  for (const char* children :
       {"[[0],[],[]]", "[[1],[1],[]]", "[[1,2],[2],[]]", "[[99999999],[],[]]", "[[-1],[],[]]",
        "[[1],[2]]", "[1,2,3]", "7", "[[1.5],[],[]]"})
    CHECK_MESSAGE(!error_of(page(nodes(children, "[9,9,4]"))).empty(), children);
  CHECK(is_refused(page(nodes("[[1],[2],[]]", "[9,9]")), "different lengths"));
  CHECK(is_refused(page(nodes("[[1],[2],[]]", "[9,9,4]", "[0,1,44]")), "string that is missing"));
  CHECK(is_refused(page(nodes("[[1],[2],[]]", "[9,-9223372036854775808,4]")), "64 bits"));
  const Profile apart = read_text(page(nodes("[[1],[],[]]", "[9,9,4]")));
  CHECK(apart.total(0) == 9);
  CHECK(apart.losses[Loss::input_line].events == 1);
  for (const char* intervals : {"[[1,2,3]]", "[[0,null,7,1,5]]", "[[0,\"x\",0,1,5]]", "[7]", "7",
                                "[[0,null,0,1,9223372036854775807],[0,null,0,1,1]]"})
    CHECK_MESSAGE(!error_of(page(R"({"intervals":)" + std::string(intervals) + "," +
                                 nodes("[[1],[2],[]]", "[]").substr(1)))
                       .empty(),
                  intervals);
}

TEST_CASE("memray-stats: the largest locations, and the rest of the totals") {
  const Profile p = read_data("memray-stats/top.json");
  const std::string rest = "[not in memray's statistics]";
  CHECK(stacks(p) == Stacks{{"load", 5000001024}, {rest, 172}});
  CHECK(stacks(p, "allocations") == Stacks{{"load", 3}, {"run", 2}, {"[no stack]", 1}, {rest, 2}});
  CHECK(p.total(0) == 5000001196);
  CHECK(p.total(1) == 8);
  CHECK(p.meta.command == "main.py --name 'a & b'");
  CHECK(has_note(p, "the peak was 4.7 GiB (5,000,001,196 B)"));
  CHECK(has_note(p, "172 B and 2 allocations are of others"));
  const Profile lines = read_data("memray-stats/top.json", "", {.lines = true});
  const Frame& first = lines.frames[lines.path(lines.touched()[0])[0]];
  CHECK(lines.strings[first.file] == "/srv/app/data.py");
  CHECK(first.line == 9);
}

TEST_CASE("memray-stats: damaged and hostile input") {
  const auto with = [](const std::string& list, const std::string& totals = "9") {
    return R"({"total_num_allocations":1,"total_bytes_allocated":)" + totals +
           R"(,"allocator_type_distribution":{},"top_allocations_by_size":)" + list + "}";
  };
  CHECK(recognised(with("[]")) == "memray-stats");
  CHECK(stacks(read_text(with("[]"))) == Stacks{{"[not in memray's statistics]", 9}});
  CHECK(stacks(read_text(with(R"([{"location":"odd","size":9}])"))) == Stacks{{"odd", 9}});
  const Profile odd = read_text(with(
      R"([{"location":"f:a.py:1"},{"location":"g:b.py:2","size":-4},{"location":"h","size":1}])"));
  CHECK(odd.losses[Loss::input_line].events == 2);
  CHECK(is_refused(with(R"([{"location":"f:a.py:1","size":10}])"), "more than its totals"));
  CHECK(is_refused(with("[7]"), "not a location"));
  CHECK(is_refused(with("7"), "not a list"));
  CHECK(is_refused(R"({"total_num_allocations":1,"allocator_type_distribution":{}})",
                   "totals are missing"));
  CHECK(
      is_refused(with(R"([{"location":"f","size":9223372036854775807},{"location":"f","size":1}])"),
                 "64 bits"));
}
