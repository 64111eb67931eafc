// SPDX-License-Identifier: BSD-2-Clause
// Several threads write the same bytes of folded text as one.
#include <doctest/doctest.h>

#include <array>
#include <map>
#include <random>
#include <sstream>

#include "core/error.h"
#include "render/order/stack_rows.h"
#include "render/output.h"
#include "render/text/ordered_text.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

std::string folded(const Profile& p, unsigned threads) {
  std::ostringstream out;
  write_folded(out, p, {.header = false, .threads = threads});
  return out.str();
}

// Names of two modules read the same; some stacks have no values, others are very deep.
Profile many_stacks(std::map<std::string, int64_t>& sums) {
  std::mt19937 random(7);  // NOLINT: the same in every run
  Profile p;
  p.types = {{"live", Unit::bytes}};
  for (int i = 0; i < 12000; ++i) {
    StackId stack;
    std::string text;
    const auto depth = i % 3000 == 0 ? 2500 : 1 + random() % 12;
    for (unsigned frame = 0; frame < depth; ++frame) {
      // A dot comes before ';', a letter behind it.
      std::string name = random() % 3 == 0 ? "f" : "f.";
      name += std::to_string(random() % 6);
      (text += text.empty() ? "" : ";") += name;
      stack = p.push(stack, name, FrameKind::user, random() % 4 == 0 ? "a.so" : "b.so");
    }
    const auto value = static_cast<int64_t>(random() % 9) - 3;
    p.add(stack, std::array{value});
    sums[text] += value;
  }
  return p;
}

}  // namespace

TEST_CASE("threads change nothing") {
  std::map<std::string, int64_t> sums;
  const Profile p = many_stacks(sums);
  REQUIRE(p.stacks.size() > 40000);
  const std::string one = folded(p, 1);
  for (const unsigned threads : {2U, 3U, 8U, 100U}) CHECK(folded(p, threads) == one);

  // Nothing is lost or written twice.
  std::istringstream lines(one);
  size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const size_t blank = line.rfind(' ');
    const auto known = sums.find(line.substr(0, blank));
    REQUIRE(known != sums.end());
    CHECK(std::stoll(line.substr(blank + 1)) == known->second);
    sums.erase(known);
  }
  for (const auto& left : sums) CHECK_MESSAGE(left.second == 0, left.first);
  CHECK(count > 8000);
}

TEST_CASE("a sum that leaves 64 bits is an error on any thread") {
  std::map<std::string, int64_t> sums;
  Profile p = many_stacks(sums);
  for (const char* module : {"a.so", "b.so"})
    p.add(p.push({}, "z", FrameKind::user, module), std::array<int64_t, 1>{INT64_MAX});
  for (const unsigned threads : {1U, 2U, 5U}) CHECK_THROWS_AS(folded(p, threads), Error);
}

TEST_CASE("ranges of rows") {
  Profile p;
  p.types = {{"live", Unit::bytes}};
  const StackId a = p.push({}, "a"), c = p.push({}, "c");
  for (const StackId stack : {a, c, p.push(a, "b"), p.push(a, "b", FrameKind::user, "b.so")})
    p.add(stack, std::array<int64_t, 1>{1});
  p.add({}, std::array<int64_t, 1>{1});
  const std::vector<std::string_view> names{"", "a", "c", "b", "b"};
  const auto order = std::make_shared<const StackOrder>(p, names);
  REQUIRE(order->size() == 5);
  for (size_t cut = 0; cut <= order->size(); ++cut) {
    std::string text;
    StackRows front(order, ';'), back(order, ';');
    while (front.next_in(0, cut)) (text += front.path()) += ' ';
    while (back.next_in(cut, order->size())) (text += back.path()) += ' ';
    CHECK(text == " a a;b c ");
  }
}

TEST_CASE("text comes out in order, and long text waits for its turn") {
  std::ostringstream out;
  write_in_order(out, 3, [](unsigned thread, OrderedText& all) {
    for (size_t chunk = thread; chunk < 40; chunk += 3) {
      std::string text = std::to_string(chunk);
      if (chunk % 5 == 0) {
        CHECK(all.add(chunk, text));
        CHECK(text.empty());
      }
      text += ' ';
      CHECK(all.end(chunk, text));
    }
  });
  std::string expected;
  for (int i = 0; i < 40; ++i) expected += std::to_string(i) + ' ';
  CHECK(out.str() == expected);
}

TEST_CASE("a thread that fails does not leave others waiting") {
  std::ostringstream out;
  const auto work = [](unsigned thread, OrderedText& all) {
    if (thread == 0) throw Error("no");
    std::string text;
    for (size_t chunk = 1; all.end(chunk, text);) chunk += 2;
  };
  CHECK_THROWS_AS(write_in_order(out, 2, work), Error);
}
