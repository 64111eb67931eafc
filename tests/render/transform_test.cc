// SPDX-License-Identifier: BSD-2-Clause
#include "render/transform.h"

#include <doctest/doctest.h>

#include <array>
#include <map>

#include "core/error.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

using Lines = std::map<std::string, int64_t>;

// "main;f" -> 12
Lines lines(const Profile& profile) {
  Lines result;
  for (const StackId stack : profile.touched()) {
    std::string line;
    for (const FrameId id : profile.path(stack))
      line += (line.empty() ? "" : ";") + std::string(profile.strings[profile.frames[id].function]);
    result[line] += profile.values(stack)[profile.shown];
  }
  return result;
}

Profile example() {
  Profile p;
  p.types = {{"value", Unit::count}};
  p.add(p.push(p.push({}, "main"), "f"), std::array<int64_t, 1>{10});
  p.add(p.push(p.push({}, "other"), "f"), std::array<int64_t, 1>{5});
  return p;
}

Profile done(const Transform& transform, Profile p = example()) {
  return transformed(std::move(p), transform, WidthOf::shown);
}

std::string error_of(const Transform& transform) {
  try {
    check_transform(transform);
  } catch (const Error& error) {
    CHECK(error.exit_code == ExitCode::usage);
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("nothing asked, nothing done") {
  CHECK(lines(done({})) == lines(example()));
  CHECK(done({}).meta.notes.empty());
}

TEST_CASE("callers first: stacks merge from the innermost function on") {
  Profile p = example();
  p.losses.add(Loss::ring_full, 2, 3);
  const Profile turned = done({.reverse = true}, p);
  CHECK(lines(turned) == Lines{{"f;main", 10}, {"f;other", 5}});
  CHECK(turned.stacks.size() == 4);
  CHECK(turned.losses.lost_events() == 2);
  CHECK(turned.meta.notes.size() == 1);
  CHECK(lines(done({.reverse = true}, done({.reverse = true}))) == lines(example()));
}

TEST_CASE("more than the sum is a frame of its own, less is said and not used") {
  CHECK(lines(done({.total = "40"})) == Lines{{"main;f", 10}, {"other;f", 5}, {"[untracked]", 25}});
  CHECK(lines(done({.total = "15"})) == lines(example()));
  const Profile less = done({.total = "9"});
  CHECK(lines(less) == lines(example()));
  CHECK(less.meta.notes ==
        std::vector<std::string>{"--total 9 is less than the sum, 15, and is not used"});
}

TEST_CASE("in a difference both states have the rest") {
  Profile p;
  p.types = {{"before", Unit::bytes}, {"after", Unit::bytes}, {"delta", Unit::bytes}};
  p.shown = 1;
  p.add(p.push({}, "f"), std::array<int64_t, 3>{10, 4, -6});
  p = transformed(std::move(p), {.total = "100"}, WidthOf::larger);
  CHECK(p.total(0) == 100);
  CHECK(p.total(1) == 94);
  CHECK(p.total(2) == -6);
}

TEST_CASE("factors are exact, with decimals where they need them") {
  CHECK(lines(done({.factor = "4096"})) == Lines{{"main;f", 40960}, {"other;f", 20480}});
  const Profile small = done({.factor = "0.25"});
  CHECK(lines(small) == Lines{{"main;f", 250}, {"other;f", 125}});
  CHECK(small.types[0].decimals == 2);
  CHECK(done({.factor = "2.50"}).types[0].decimals == 1);
  CHECK(done({.factor = "3.0"}).types[0].decimals == 0);
  CHECK_THROWS_WITH_AS(done({.factor = "9223372036854775807"}),
                       doctest::Contains("range of 64 bits"), Error);
}

TEST_CASE("the order of the input is kept") {
  Profile p;
  p.types = {{"value", Unit::count}};
  p.keep_order();
  const StackId f = p.push({}, "f"), g = p.push({}, "g");
  for (const StackId stack : {f, g, f}) p.add(stack, std::array<int64_t, 1>{2});
  p = done({.reverse = true, .total = "10", .factor = "3"}, std::move(p));
  REQUIRE(p.in_order());
  std::vector<int64_t> rows;
  for (size_t i = 0; i < p.rows(); ++i) rows.push_back(p.row(i).values[0]);
  CHECK(rows == std::vector<int64_t>{6, 6, 6, 12});
}

TEST_CASE("a factor changes estimates and their errors alike, and no other column") {
  Profile p;
  p.types = {{"live", Unit::bytes, 1, 1.0}, {"variance", Unit::variance}, {"calls"}};
  p.add(p.push({}, "f"), std::array<int64_t, 3>{100, 16, 7});
  p = done({.factor = "10"}, std::move(p));
  CHECK(p.total(0) == 1000);
  CHECK(p.total_error(0) == doctest::Approx(40));
  CHECK(p.total(2) == 7);
}

TEST_CASE("what is not a number is refused at once") {
  for (const char* wrong :
       {"0", "-1", "x", "1x", "", ".", "1e3", "0.0000000001", "99999999999999999999"}) {
    if (*wrong == '\0') continue;  // stands for not given
    CAPTURE(wrong);
    CHECK(error_of({.factor = wrong}).find("--factor takes a number above 0") != std::string::npos);
    CHECK(error_of({.total = wrong}).find("--total takes a number above 0") != std::string::npos);
  }
  CHECK(error_of({.factor = "0.001"}) == "no error");
  // A remainder would count twice in the sum of two states, and not at all in a difference.
  for (const WidthOf of : {WidthOf::both, WidthOf::change})
    CHECK_THROWS_WITH_AS(transformed(example(), {.total = "40"}, of),
                         doctest::Contains("--widths sum or delta"), Error);
  CHECK_THROWS_WITH_AS(done({.total = "1.5"}), doctest::Contains("no such decimals"), Error);
}

TEST_CASE("figures are what they are said to be") {
  const Profile named = done({.count_name = "bytes"});
  CHECK(named.types[0].unit == Unit::bytes);
  CHECK(named.types[0].name == "bytes");
  CHECK(done({.count_name = "samples"}).types[0].name == "samples");
  CHECK(done({.count_name = "samples"}).types[0].unit == Unit::count);
  // A known unit stays.
  CHECK(done({.count_name = "pages"}, done({.count_name = "bytes"})).types[0].unit == Unit::bytes);
}

TEST_CASE("notes are lines of the picture") {
  CHECK(done({.notes = "a <note>"}).meta.notes == std::vector<std::string>{"a <note>"});
}
