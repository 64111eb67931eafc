// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/select/parse.h"

#include <doctest/doctest.h>

#include "core/error.h"
#include "tests/collapse/select/made_run.h"

using namespace memflame;  // NOLINT(google-build-using-namespace)

namespace {

using Numbers = std::vector<int>;

// Blocks 1 to 8: bit 0 of the number less one is "a", bit 1 "b", bit 2 "c".
struct ThreeSets : MadeRun {
  ThreeSets() {
    for (uint64_t i = 0; i < 8; ++i)
      add({.address = i & 1U, .size = (i >> 1U) & 1U, .weight = 0, .count = 1, .position = 1});
    for (uint64_t i = 0; i < 8; ++i) blocks[i].first.allocated_ns = i >> 2U;
  }
  Numbers of(const std::string& where) {
    return selected(where, {"a=address = 1", "b=size = 1", "c=allocated = 1ns"});
  }
};

bool same(ThreeSets& run, const std::string& one, const std::string& other) {
  CAPTURE(one);
  CAPTURE(other);
  return run.of(one) == run.of(other);
}

}  // namespace

TEST_CASE("words and sets") {
  ThreeSets run;
  CHECK(run.of("a") == Numbers{2, 4, 6, 8});
  CHECK(run.of("b") == Numbers{3, 4, 7, 8});
  CHECK(run.of("c") == Numbers{5, 6, 7, 8});
  CHECK(run.of("a and b") == Numbers{4, 8});
  CHECK(run.of("a & b") == Numbers{4, 8});
  CHECK(run.of("a or b") == Numbers{2, 3, 4, 6, 7, 8});
  CHECK(run.of("a + b") == Numbers{2, 3, 4, 6, 7, 8});
  CHECK(run.of("a - b") == Numbers{2, 6});
  CHECK(run.of("not a") == Numbers{1, 3, 5, 7});
  CHECK(run.of("not not a") == Numbers{2, 4, 6, 8});
  CHECK(run.of("a - a").empty());
}

TEST_CASE("what binds tighter") {
  ThreeSets run;
  CHECK(same(run, "a or b and c", "a or (b and c)"));
  CHECK(same(run, "a and b or c", "(a and b) or c"));
  CHECK(same(run, "not a and b", "(not a) and b"));
  CHECK(same(run, "not a or b", "(not a) or b"));
  CHECK(same(run, "not a + b", "not (a + b)"));
  CHECK(same(run, "not a & b", "not (a & b)"));
  CHECK(same(run, "a and b + c", "a and (b + c)"));
  CHECK(same(run, "a + b & c", "a + (b & c)"));
  CHECK(same(run, "a - b & c", "a - (b & c)"));
  CHECK(same(run, "a - b - c", "(a - b) - c"));
  CHECK(same(run, "a - b + c", "(a - b) + c"));
  CHECK(same(run, "a + b - c", "(a + b) - c"));
  CHECK(same(run, "address = 1 + size = 1", "a + b"));
  CHECK(same(run, "address = 1 & size = 1 - c", "(a & b) - c"));
}

TEST_CASE("'+' and '-' belong to a time if another one follows") {
  ThreeSets run;
  CHECK(same(run, "allocated = 3ns - 2ns + a", "c or a"));
  CHECK(same(run, "allocated = 1ns - a", "c and not a"));
  CHECK(same(run, "allocated = start + 1ns & a", "c and a"));
  CHECK(same(run, "allocated in 1ns..end - 1s - (a)", "c and not a"));
}

TEST_CASE("all of several conditions") {
  ThreeSets run;
  Query query;
  add_where(query, "--where", "address = 1 or size = 1");
  add_where(query, "--where", "allocated = 1ns");
  CHECK(run.selected(query) == Numbers{6, 7, 8});
  CHECK(run.selected(Query{}) == Numbers{1, 2, 3, 4, 5, 6, 7, 8});
}

TEST_CASE("a named selection can be used many times, and by others") {
  ThreeSets run;
  CHECK(run.selected("d - e", {"d=size = 1", " e = d & address = 1"}) == Numbers{3, 7});
}

TEST_CASE("conditions of options") {
  MadeRun run;
  const RawStackId hot = run.stack({"main", "say \"hi\\there\""});
  run.add({.allocated_ns = 5 * seconds_ns, .size = 4096, .thread = ThreadId{1}, .stack = hot});
  run.add({.allocated_ns = 9 * seconds_ns, .size = 1, .thread = run.thread(7, "812")});
  const auto selected = [&](Property property, Comparison comparison, const char* text) {
    Query query;
    add_comparison(query, "--option", property, comparison, text);
    return run.selected(query);
  };
  CHECK(selected(Property::size, Comparison::at_least, "4K") == Numbers{1});
  CHECK(selected(Property::allocated, Comparison::within, "1s..5s") == Numbers{1});
  CHECK(selected(Property::allocated, Comparison::within, "..5s") == Numbers{1});
  CHECK(selected(Property::allocated, Comparison::within, "5001ms..") == Numbers{2});
  CHECK(selected(Property::allocated, Comparison::within, "..") == Numbers{1, 2});
  CHECK(selected(Property::function, Comparison::matches, "y \"hi\\\\t") == Numbers{1});
  CHECK(selected(Property::function, Comparison::matches_not, "y \"hi") == Numbers{2});
  CHECK(selected(Property::thread, Comparison::equal, "812") == Numbers{1});  // a number is an id
  CHECK(selected(Property::thread, Comparison::equal, "server") == Numbers{1});
  Query leaks, frees;
  add_flag(leaks, "--leaked", Property::leaked, true);
  CHECK(run.selected(leaks) == Numbers{1, 2});
  add_flag(frees, "--freed", Property::leaked, false);
  CHECK(run.selected(frees).empty());
  Query query;
  add_live_at(query, "--live-at", "end - 93s");
  CHECK(run.selected(query) == Numbers{1});
  CHECK_THROWS_WITH(selected(Property::size, Comparison::at_least, "4K or leaked"),
                    "--option, column 4: expected nothing more or the end, not 'or'\n"
                    "  4K or leaked\n     ^");
  CHECK_THROWS_WITH(selected(Property::function, Comparison::matches, "a("),
                    "--option, column 1: not a regular expression: missing ): a(\n  a(\n  ^");
  CHECK_THROWS_AS(selected(Property::size, Comparison::at_least, ""), Error);
  CHECK_THROWS_AS(selected(Property::allocated, Comparison::within, "5s"), Error);
}

TEST_CASE("errors show the place, and what was expected") {
  CHECK(refusal("freed > foo and leaked") ==
        "--where, column 9: expected a time (12.5s, 100ms, 98%, start, end, peak or a \"marker\"), "
        "not 'foo'\n  freed > foo and leaked\n          ^");
  CHECK(refusal("sise > 4K") ==
        "--where, column 1: there is no property or selection 'sise'; did you mean 'size'?\n"
        "  sise > 4K\n  ^");
  CHECK(refusal("leaked and lost_ones", {"lost_one=leaked"}) ==
        "--where, column 12: there is no property or selection 'lost_ones'; did you mean "
        "'lost_one'?\n  leaked and lost_ones\n             ^");
  CHECK(refusal("zzzzzz") ==
        "--where, column 1: there is no property or selection 'zzzzzz'\n  zzzzzz\n  ^");
  CHECK(refusal("size > 4K and") ==
        "--where, column 14: expected a property, a selection, 'not' or '(', but the selection "
        "ends here\n  size > 4K and\n               ^");
  CHECK(refusal("(leaked").find("expected ')', but the selection ends here") != std::string::npos);
  CHECK(refusal("leaked)").find("expected 'and', 'or', '+', '-', '&' or the end, not ')'") !=
        std::string::npos);
  CHECK(refusal("size 4K").find("expected a comparison after 'size' (= != < <= > >= in)") !=
        std::string::npos);
  CHECK(refusal("size ~ '4'").find("expected a comparison after 'size'") != std::string::npos);
  CHECK(refusal("size > 4X").find("expected a number of bytes (4096, 4K, 1.5MiB), not '4X'") !=
        std::string::npos);
  CHECK(refusal("depth > 4K").find("expected a whole number") != std::string::npos);
  CHECK(refusal("group.leaked_share > 5K").find("expected a share (50%, 0.5)") !=
        std::string::npos);
  CHECK(refusal("address > peak").find("expected an address") != std::string::npos);
  CHECK(refusal("function ~ malloc").find("expected text in quotes, not 'malloc'") !=
        std::string::npos);
  CHECK(refusal("function > 'm'").find("(= != ~ !~)") != std::string::npos);
  CHECK(refusal("thread ~ 12") ==
        "--where, column 10: expected a regular expression in quotes, not '12'\n"
        "  thread ~ 12\n           ^");
  CHECK(refusal("function ~ 'a('") ==
        "--where, column 12: not a regular expression: missing ): a(\n"
        "  function ~ 'a('\n             ^");
  CHECK(refusal("live 5s").find("expected 'at' or 'in' after 'live', not '5s'") !=
        std::string::npos);
  CHECK(refusal("live in 5s").find("expected '..' and the end of the range") != std::string::npos);
  CHECK(
      refusal("stack in leaked").find("expected the name of a selection (--let NAME=...) or '('") !=
      std::string::npos);
  CHECK(refusal("leaked > 3").find("or the end, not '>'") != std::string::npos);
  CHECK(refusal("").find("but the selection ends here") != std::string::npos);
  CHECK(refusal("in").find("expected a property") != std::string::npos);
}

TEST_CASE("ranges that are empty are mistakes") {
  for (const char* where : {"allocated in 5s..2s", "size in 8K..4K", "live in end..start",
                            "group.leaked_share in 60%..0.5", "lifetime in 1s..start"}) {
    CAPTURE(where);
    CHECK(refusal(where).find("column 1: the range is empty") != std::string::npos);
  }
  CHECK(refusal("group.leaked_share in 60%..0.6").empty());
}

TEST_CASE("signs of other languages are explained") {
  CHECK(refusal("leaked && size > 1").find("column 8: '&&' is 'and' here") != std::string::npos);
  CHECK(refusal("leaked || size > 1").find("'||' is 'or' here") != std::string::npos);
  CHECK(refusal("size == 1").find("'==' is '=' here") != std::string::npos);
  CHECK(refusal("!leaked").find("'!' is 'not' here") != std::string::npos);
  CHECK(refusal("function ~ /x/").find("in quotes") != std::string::npos);
  CHECK(refusal("size > $x").find("no such character") != std::string::npos);
  CHECK(refusal("function ~ 'x").find("column 12: the string does not end") != std::string::npos);
}

TEST_CASE("strings: a backslash stands for itself unless the quote follows") {
  MadeRun run;
  run.add({.size = 1, .stack = run.stack({"it's\\d"})});
  run.add({.size = 1, .stack = run.stack({"7"})});
  CHECK(run.selected(R"(function = 'it\'s\d')") == Numbers{1});
  CHECK(run.selected(R"(function = "it's\d")") == Numbers{1});
  CHECK(run.selected(R"(function ~ "\\d$")") == Numbers{1});
  CHECK(run.selected(R"(function ~ "^\d$")") == Numbers{2});
}

TEST_CASE("the place in a long text, in one with letters of several bytes, in several lines") {
  const std::string spaces(200, ' ');
  CHECK(refusal("leaked" + spaces + "and" + spaces + "foo" + spaces) ==
        "--where, column 410: there is no property or selection 'foo'\n  ..." +
            std::string(48, ' ') + "foo" + std::string(21, ' ') + "...\n  " + std::string(51, ' ') +
            "^");
  CHECK(refusal("function = 'ü' foo") ==
        "--where, column 16: expected 'and', 'or', '+', '-', '&' or the end, not 'foo'\n"
        "  function = 'ü' foo\n                 ^");
  CHECK(refusal("leaked\nfoo").find("\n  leaked foo\n         ^") != std::string::npos);
}

TEST_CASE("named selections") {
  CHECK(refusal("leaked", {"big"}) == "--let big: expected NAME=EXPR, like big=size >= 1M");
  CHECK(refusal("leaked", {"size=leaked"}) == "--let size=leaked: 'size' has a meaning already");
  CHECK(refusal("leaked", {"peak=leaked"}).find("has a meaning already") != std::string::npos);
  CHECK(refusal("leaked", {"a-b=leaked"}).find("a name has letters") != std::string::npos);
  CHECK(refusal("leaked", {"1=leaked"}).find("a name has letters") != std::string::npos);
  CHECK(refusal("leaked", {"=leaked"}).find("a name has letters") != std::string::npos);
  CHECK(refusal("leaked", {"a=leaked", "a=leaked"}).find("two selections of that name") !=
        std::string::npos);
  CHECK(refusal("leaked", {"a=b", "b=leaked"}) ==
        "--let a, column 1: there is no property or selection 'b'\n  b\n  ^");
  CHECK(refusal("leaked", {"a=size > 1x"}).find("--let a, column 8: expected a number of bytes") !=
        std::string::npos);
}

TEST_CASE("texts without end are bounded") {
  CHECK(refusal(std::string(100, '(') + "leaked" + std::string(100, ')')).empty());
  CHECK(refusal(std::string(101, '(') + "leaked" + std::string(101, ')'))
            .find("nested more than 100 deep") != std::string::npos);
  std::string sum = "leaked";
  for (int i = 0; i < 600; ++i) sum += "-leaked";
  CHECK(refusal(sum).empty());
  for (int i = 0; i < 600; ++i) sum += "-leaked";
  CHECK(refusal(sum) == "--where: the selection has more than 1,000 conditions");
  CHECK(refusal(std::string(20'000, ' ')) == "--where: the selection is longer than 16 KiB");
  std::string nots;
  for (int i = 0; i < 4000; ++i) nots += "not ";
  CHECK(refusal(nots + "leaked").empty());
  std::vector<std::string> doubled{"a0=leaked"};
  for (int i = 1; i < 50; ++i) {
    const std::string before = "a" + std::to_string(i - 1);
    doubled.push_back("a" + std::to_string(i) + "=" + before + " & " + before);
  }
  CHECK(refusal("a9", doubled).empty());
  CHECK(refusal("a49", doubled).find("more than 4,000 conditions") != std::string::npos);
  std::vector<std::string> many(101, "");
  for (size_t i = 0; i < many.size(); ++i) many[i] = "x" + std::to_string(i) + "=leaked";
  CHECK(refusal("leaked", many).find("more than 100 selections") != std::string::npos);
}
