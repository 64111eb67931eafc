// SPDX-License-Identifier: BSD-2-Clause
#include "core/profile.h"

#include <doctest/doctest.h>

#include <array>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

Profile two_columns() {
  Profile p;
  p.types = {{"live", Unit::bytes}, {"live-count", Unit::count}};
  return p;
}

void add(Profile& p, std::initializer_list<std::string_view> path, int64_t bytes, int64_t count) {
  StackId stack;
  for (const std::string_view frame : path) stack = p.push(stack, frame);
  p.add(stack, std::array{bytes, count});
}

}  // namespace

TEST_CASE("equal paths are one stack, and callers come before callees") {
  Profile p = two_columns();
  add(p, {"main", "f"}, 10, 1);
  add(p, {"main", "g"}, 5, 1);
  add(p, {"main", "f"}, 7, 2);
  CHECK(p.touched().size() == 2);
  CHECK(p.total(0) == 22);
  CHECK(p.total(1) == 4);
  for (uint32_t i = 1; i < p.stacks.size(); ++i) CHECK(p.stacks[StackId{i}].caller.index < i);
}

TEST_CASE("inclusive sums: self plus callees equals the parent") {
  Profile p = two_columns();
  add(p, {"main"}, 1, 1);
  add(p, {"main", "f"}, 10, 1);
  add(p, {"main", "f", "f"}, -4, 1);
  const std::vector<int64_t> sums = p.inclusive(0);
  CHECK(sums[0] == 7);
  CHECK(sums[1] == 7);
  CHECK(sums[2] == 6);
  CHECK(sums[3] == -4);
}

TEST_CASE("a sum beyond 64 bits is an error, never a wrap") {
  Profile p = two_columns();
  add(p, {"main"}, INT64_MAX, 1);
  CHECK_THROWS_AS(add(p, {"main"}, 1, 1), Error);
  Profile q = two_columns();
  add(q, {"a"}, INT64_MAX, 1);
  add(q, {"b"}, INT64_MAX, 1);
  CHECK_THROWS_AS(static_cast<void>(q.total(0)), Error);
}

TEST_CASE("a total that fits is told, whatever the sums on the way to it are") {
  Profile p;
  p.types = {{"delta", Unit::bytes}};
  const auto add_one = [&](const char* name, int64_t value) {
    p.add(p.push({}, name), std::array{value});
  };
  add_one("a", -12);
  add_one("b", INT64_MIN);
  CHECK_THROWS_AS(static_cast<void>(p.total(0)), Error);
  add_one("c", 12);
  CHECK(p.total(0) == INT64_MIN);
  add_one("d", INT64_MAX);
  add_one("e", 1);
  CHECK(p.total(0) == 0);
  add_one("f", INT64_MAX);
  CHECK(p.total(0) == INT64_MAX);
  add_one("g", 1);
  CHECK_THROWS_AS(static_cast<void>(p.total(0)), Error);
}

TEST_CASE("merge keeps totals and losses, and refuses other columns") {
  Profile a = two_columns();
  Profile b = two_columns();
  add(a, {"main", "f"}, 1, 1);
  add(b, {"main", "f"}, 2, 1);
  add(b, {"main", "g"}, 3, 1);
  b.losses.add(Loss::ring_full, 2, 100);
  merge(a, b);
  CHECK(a.total(0) == 6);
  CHECK(a.touched().size() == 2);
  CHECK(a.losses.lost_events() == 2);
  CHECK(a.losses.lost_bytes() == 100);
  b.types[0].unit = Unit::count;
  CHECK_THROWS_AS(merge(a, b), Error);
  b.types[0].name = "another";
  CHECK_THROWS_AS(merge(a, b), Error);
}

TEST_CASE("merge states each title once") {
  Profile a = two_columns(), b = two_columns();
  a.meta.title = "server 12";
  b.meta.title = "server 1";
  merge(a, b);
  CHECK(a.meta.title == "server 12 + server 1");
  merge(a, b);
  CHECK(a.meta.title == "server 12 + server 1");
  b.meta.title = "";
  merge(b, a);
  merge(b, a);
  CHECK(b.meta.title == "server 12 + server 1");
}

TEST_CASE("merge brings columns together by their names") {
  Profile a, b;
  a.types = {{"live", Unit::bytes}};
  b.types = {{"blocks", Unit::count}, {"live", Unit::bytes}};
  b.set_decimals(1, 1);
  a.add(a.push({}, "main"), std::array<int64_t, 1>{5});
  b.add(b.push({}, "main"), std::array<int64_t, 2>{2, 75});
  merge(a, b);
  CHECK(a.types.size() == 2);
  CHECK(a.types[0].decimals == 1);
  CHECK(a.total(0) == 125);
  CHECK(a.total(1) == 2);
}

TEST_CASE("a copied profile owns its names") {
  Profile copy;
  {
    Profile p = two_columns();
    add(p, {"main", "a name that is longer than the small string buffer"}, 1, 1);
    copy = p;
  }
  add(copy, {"main", "a name that is longer than the small string buffer"}, 1, 1);
  CHECK(copy.touched().size() == 1);
}

namespace {

// `live` is estimated, in squares of 1024 bytes; `calls` is exact.
Profile sampled() {
  Profile p;
  p.types = {{"live", Unit::bytes, 2, 1024.0 * 1024.0},
             {"calls", Unit::count},
             {"live variance", Unit::variance}};
  p.meta.sampling = "1 in 10 calls";
  return p;
}

}  // namespace

TEST_CASE("the errors of independent samples add up as squares") {
  Profile p = sampled();
  const StackId main = p.push({}, "main");
  p.add(p.push(main, "f"), std::array<int64_t, 3>{10240, 1, 9});
  p.add(p.push(main, "g"), std::array<int64_t, 3>{10240, 1, 16});
  CHECK(p.total_error(0) == 5 * 1024.0);
  CHECK(p.total_error(1) == 0);
  CHECK(p.standard_error(0, std::array<int64_t, 3>{1, 1, 4}) == 2 * 1024.0);
  CHECK(p.standard_error(1, std::array<int64_t, 3>{1, 1, 4}) == 0);
  // Frees that race with the reading of the sums must not lead to the square root of a negative
  // number.
  CHECK(p.standard_error(0, std::array<int64_t, 3>{1, 1, -4}) == 0);
}

TEST_CASE("merged estimates keep their errors, and say that they are estimates") {
  Profile a = sampled();
  a.add(a.push({}, "main"), std::array<int64_t, 3>{1, 1, 9});
  merge(a, [] {
    Profile b = sampled();
    b.add(b.push({}, "main"), std::array<int64_t, 3>{1, 1, 16});
    b.meta.sampling = "1 in 20 calls";
    return b;
  }());
  CHECK(a.total_error(0) == 5 * 1024.0);
  CHECK(a.meta.sampling == "1 in 10 calls + 1 in 20 calls");
  Profile exact = sampled();
  exact.types[0].variance = no_column;
  CHECK_THROWS_AS(merge(a, exact), Error);
  Profile none = sampled();
  none.meta.sampling = "";
  merge(none, a);
  CHECK(none.meta.sampling == "1 in 10 calls + 1 in 20 calls");
  merge(none, a);
  CHECK(none.meta.sampling == "1 in 10 calls + 1 in 20 calls");
}

TEST_CASE("merged estimates may count their variances in different units") {
  const auto in_unit = [](double unit, int64_t variance) {
    Profile p = sampled();
    p.types[0].variance_unit = unit;
    p.add(p.push({}, "main"), std::array<int64_t, 3>{100, 1, variance});
    return p;
  };
  const auto merged = [](Profile a, const Profile& b) {
    merge(a, b);
    return a;
  };
  const Profile fine = in_unit(1, int64_t{9} * 1024 * 1024), coarse = in_unit(1024 * 1024, 16);
  CHECK(merged(fine, coarse).total_error(0) == 5 * 1024.0);
  CHECK(merged(coarse, fine).total_error(0) == 5 * 1024.0);
  CHECK(merged(fine, coarse).total(0) == 200);
  // A value that fits in one unit also fits after conversion to the other.
  const Profile large = in_unit(1e6, INT64_MAX);
  CHECK(merged(fine, large).total_error(0) == doctest::Approx(large.total_error(0)));
}

TEST_CASE("a sum of variances stops at the largest number; it ends no run") {
  Profile p = sampled();
  p.add(p.push({}, "main"), std::array<int64_t, 3>{1, 1, INT64_MAX});
  p.add(p.push({}, "main"), std::array<int64_t, 3>{1, 1, 1});
  p.add(p.push(p.push({}, "main"), "f"), std::array<int64_t, 3>{1, 1, INT64_MAX});
  CHECK(p.total(2) == INT64_MAX);
  CHECK(p.inclusive(2)[0] == INT64_MAX);
  CHECK(p.total_error(0) > 3e9 * 1024);
}

TEST_CASE("no input can have a column of variances for its value") {
  Unit unit = Unit::count;
  CHECK_FALSE(parse_unit("variance", unit));
  CHECK(unit == Unit::count);
  CHECK(parse_unit("pages", unit));
}

TEST_CASE("the order of what was added is kept where that is asked for") {
  Profile p;
  p.types = {{"live", Unit::bytes}};
  p.keep_order();
  const StackId a = p.push({}, "a"), b = p.push({}, "b");
  for (const StackId stack : {a, a, b, a}) p.add(stack, std::array<int64_t, 1>{2});
  REQUIRE(p.rows() == 3);
  CHECK(p.row(0).stack == a);
  CHECK(p.row(0).values[0] == 4);
  CHECK(p.row(2).stack == a);
  CHECK(p.row(2).values[0] == 2);
  CHECK(p.values(a)[0] == 6);
  CHECK(p.touched().size() == 2);
  p.add_column({"calls"});
  p.set_decimals(0, 1);
  p.add(b, std::array<int64_t, 2>{5, 6});
  REQUIRE(p.rows() == 4);
  CHECK(p.row(1).values[0] == 20);
  CHECK(p.row(1).values[1] == 0);
  CHECK(p.row(3).values[1] == 6);
  CHECK(p.total(0) == 85);
  Profile q;
  q.types = p.types;
  q.keep_order();
  merge(q, p);
  CHECK(q.rows() == 4);
  Profile plain;
  plain.types = p.types;
  merge(plain, p);
  CHECK(plain.rows() == 2);
  CHECK(plain.total(0) == 85);
}

TEST_CASE("a thousand columns that come one by one cost a few passes over the figures") {
  Profile p;
  p.keep_order();
  p.types = {{"first"}};
  const StackId root = p.push({}, "main");
  constexpr int64_t rows = 10'000;
  for (int64_t i = 0; i < rows; ++i) p.add(p.push(root, "f" + std::to_string(i)), std::array{i});
  const StackId last = p.touched().back();
  std::vector<int64_t> row{0};
  while (p.types.size() < max_columns) {
    CHECK(p.add_column({"c" + std::to_string(p.types.size())}) == row.size());
    row.assign(p.types.size(), 0);
    row.back() = static_cast<int64_t>(row.size());
    p.add(last, row);
  }
  CHECK_THROWS_AS(p.add_column({"more"}), Error);
  CHECK(p.total(0) == rows * (rows - 1) / 2);
  CHECK(p.values(last)[0] == rows - 1);
  for (const size_t column : {size_t{1}, size_t{500}, max_columns - 1}) {
    CHECK(p.total(column) == static_cast<int64_t>(column) + 1);
    CHECK(p.row(p.rows() - 1).values[column] == static_cast<int64_t>(column) + 1);
    CHECK(p.values(p.touched().front())[column] == 0);
  }
}

TEST_CASE("stacks may come before any column") {
  Profile p;
  const StackId early = p.push({}, "early");
  p.add(early, {});
  p.add(p.push({}, "other"), {});
  CHECK(p.add_column({"late"}) == 0);
  CHECK(p.total(0) == 0);
  p.add(early, std::array<int64_t, 1>{5});
  CHECK(p.values(early)[0] == 5);
  CHECK(p.total(0) == 5);
}
