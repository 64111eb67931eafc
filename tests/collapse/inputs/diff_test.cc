// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/fold/diff.h"

#include <doctest/doctest.h>

#include <regex>
#include <set>
#include <sstream>

#include "core/difference.h"
#include "core/error.h"
#include "render/output.h"
#include "tests/collapse/inputs/inputs.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

Profile difference(const std::string& before, const std::string& after,
                   const DiffOptions& options = {}) {
  return diff(read_text(before, "folded"), read_text(after, "folded"), options);
}

std::string folded(const Profile& profile, const RenderOptions& options = {.header = false}) {
  std::ostringstream out;
  write_folded(out, profile, options);
  return out.str();
}

std::string refusal(const std::string& before, const std::string& after,
                    const DiffOptions& options = {}) {
  try {
    difference(before, after, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::set<std::string> lines(const std::string& text) {
  std::istringstream in(text);
  std::set<std::string> set;
  for (std::string line; std::getline(in, line);) set.insert(line);
  return set;
}

}  // namespace

TEST_CASE("a difference is the union of the stacks, with what was before and after") {
  const Profile p = difference("a;b 5\na;gone 3\na;same 1\n", "a;b 2\na;new 7\na;same 1\n");
  CHECK(p.types == std::vector<ValueType>{
                       {"before", Unit::count}, {"after", Unit::count}, {"delta", Unit::count}});
  CHECK(p.shown == 1);
  CHECK(folded(p) == "a;b 5 2\na;gone 3 0\na;new 0 7\na;same 1 1\n");
  CHECK(stacks(p, "delta") == Stacks{{"a;b", -3}, {"a;gone", -3}, {"a;new", 7}});
  CHECK(p.meta.notes ==
        std::vector<std::string>{"before 9, after 10: +1 (+11.1 %)", "gone: 3 in 1 stack"});
}

TEST_CASE("titles of both sides; one that a side lacks is not half empty") {
  const std::string a = "# memflame title=\"A\"\na 1\n", b = "# memflame title=\"B\"\na 1\n";
  CHECK(difference(a, b).meta.title == "A → B");
  CHECK(difference(a, a).meta.title == "A");
  CHECK(difference(a, "a 1\n").meta.title == "A");
  CHECK(difference("a 1\n", b).meta.title == "B");
}

TEST_CASE("losses of two runs add up; those of two moments of one run count once") {
  Profile before = read_text("a 1\n", "folded"), after = read_text("a 2\n", "folded");
  before.losses.add(Loss::event_lost, 270, 1000);
  after.losses.add(Loss::event_lost, 276, 2000);
  const auto lost = [&](const DiffOptions& options = {}) {
    const LossCount count = diff(before, after, options).losses[Loss::event_lost];
    CHECK(count.bytes == (count.events == 276 ? 2000 : 3000));
    return count.events;
  };
  CHECK(lost() == 546);
  CHECK(lost({.one_run = true}) == 276);
  // As two files that SIGUSR1 or --when made.
  before.meta.command = after.meta.command = "memflame alloc -p 1";
  before.meta.seconds = 1;
  after.meta.seconds = 2;
  CHECK(lost() == 546);
  before.meta.notes.emplace_back(so_far_note);
  CHECK(lost() == 276);
  after.meta.command = "memflame alloc -p 2";
  CHECK(lost() == 546);
}

TEST_CASE("stacks that are there twice add up on both sides") {
  const Profile p = difference("a;b 5\na;c 1\na;b 5\n", "a;b 1\na;b 2\na;b 4\n");
  CHECK(folded(p) == "a;b 10 7\na;c 1 0\n");
}

TEST_CASE("negative figures and empty sides are kept") {
  CHECK(folded(difference("a -5\nb 1\n", "a 5\nc -2\n")) == "a -5 5\nb 1 0\nc 0 -2\n");
  CHECK(stacks(difference("a -5\n", "a 5\n"), "delta") == Stacks{{"a", 10}});
  const std::string nothing = "# memflame folded unit=count value=count total=0\n";
  CHECK(folded(difference("a 1\n", nothing)) == "a 1 0\n");
  CHECK(folded(difference(nothing, "a 1\n")) == "a 0 1\n");
}

TEST_CASE("a text of a difference is one again when it is read") {
  const Profile p = difference("a;b 5\na;worker 12 3\n", "a;b 2\na;new 7\n");
  const std::string text = folded(p, {});
  CHECK(
      text.starts_with("# memflame folded unit=count value=after total=9 "
                       "columns=\"before:count,after:count\"\n"));
  const Profile back = read_text(text);
  CHECK(stacks(back, "before") == Stacks{{"a;b", 5}, {"a;worker 12", 3}});
  CHECK(difference_of(back).has_value());
  CHECK(folded(back, {}) == text);
  CHECK(folded(back, {.header = false, .one_value = true}) == "a;b 2\na;new 7\n");
}

TEST_CASE("frames that differ in module or kind stay apart") {
  Profile before, after;
  for (Profile* p : {&before, &after}) p->types = {{"live", Unit::bytes}};
  before.add(before.push({}, "f", FrameKind::user, "liba.so"), std::array<int64_t, 1>{1});
  after.add(after.push({}, "f", FrameKind::user, "libb.so"), std::array<int64_t, 1>{2});
  const Profile p = diff(before, after, {});
  CHECK(p.touched().size() == 2);
  CHECK(p.types[0].unit == Unit::bytes);
}

TEST_CASE("the shown values are compared, in one unit and with all their decimals") {
  const std::string bytes = "# memflame folded unit=bytes value=live total=1\na 1\n";
  CHECK(refusal(bytes, "a 1\n") ==
        "figures of live (bytes) before and of count (count) after cannot be compared; name others "
        "with --value");
  const Profile p = difference("a 1.5\nb 2\n", "a 1.25\nc 0.125\n");
  CHECK(folded(p) == "a 1.5 1.25\nb 2 0\nc 0 0.125\n");
  CHECK(stacks(p, "delta") == Stacks{{"a", -250}, {"b", -2000}, {"c", 125}});
}

TEST_CASE("scaled figures add up to the other total") {
  const Profile p = difference("a 1\nb 1\nc 1\n", "a 10\n", {.normalize = true});
  CHECK(stacks(p, "before") == Stacks{{"a", 4}, {"b", 3}, {"c", 3}});
  CHECK(p.meta.notes.front() == "before is scaled by 10 / 3, so that both totals are the same");
  CHECK(folded(difference("a 1\nb 1\nc 1\n", "a 10\n", {.normalize = true, .truncate = true})) ==
        "a 3 10\nb 3 0\nc 3 0\n");
  // Numbers beyond the precision of doubles, and negative ones.
  const std::string large = "a 9007199254740993\nb -3\nc 1\n";
  CHECK(stacks(difference(large, "a 9007199254740991\n", {.normalize = true}), "before") ==
        Stacks{{"a", 9007199254740993}, {"b", -3}, {"c", 1}});
  CHECK(difference(large, "a 123456789\n", {.normalize = true}).total(0) == 123456789);
  CHECK(refusal("a 1\nb -1\n", "a 1\n", {.normalize = true}) ==
        "--normalize needs totals above 0; they are 0 before and 1 after");
}

TEST_CASE("addresses in names can be left out") {
  const std::string before = "m;0x1f;f 1\nm;0x2F+0x3 2\nm;0xyz 3\nm;0x 4\n";
  const Profile p = difference(before, "m;0xabc;f 5\n", {.strip_hex = true});
  CHECK(folded(p) == "m;0x 4 0\nm;0x...;f 1 5\nm;0x...+0x... 2 0\nm;0xyz 3 0\n");
}

TEST_CASE("what a difference leaves is not beyond 64 bits") {
  CHECK(refusal("a -9223372036854775807\n", "a 9223372036854775807\n") != "");
  CHECK(refusal("a 1\nb -9223372036854775808\n", "a 1\n") ==
        "a difference leaves the range of 64 bits");
}

TEST_CASE("public samples") {
  const auto folder = corpus("diff");
  if (!folder) return;
  const auto text = [&](const char* name) { return file_text(*folder / name); };
  const auto expect = [&](const char* before, const char* expected, const DiffOptions& options) {
    CAPTURE(expected);
    CHECK(lines(folded(difference(text(before), text("after.txt"), options))) ==
          lines(text(expected)));
  };
  expect("before.txt", "default.expected.txt", {});
  expect("before.txt", "strip_hex.expected.txt", {.strip_hex = true});
  expect("before.txt", "normalize.expected.txt", {.normalize = true, .truncate = true});
  // Exact, whereas FlameGraph's tool truncates fractions.
  const Profile exact = difference(text("before_fractionals.txt"), text("after.txt"));
  CHECK(lines(std::regex_replace(folded(exact), std::regex("\\.[0-9]+"), "")) ==
        lines(text("fractionals.expected.txt")));
  CHECK(exact.total(0) == 67084398325);
  CHECK(exact.types[0].decimals == 9);
  CHECK(exact.total(2) == 12915601675);
  const Profile bad = difference(text("bad_before.txt"), text("after.txt"));
  CHECK(bad.losses[Loss::input_line].events == 1);
  CHECK(bad.total(0) == 54);
}
