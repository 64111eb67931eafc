// SPDX-License-Identifier: BSD-2-Clause
// Threads read blocks of folded text at the same time, but the blocks' stacks, comments and errors
// are taken in the order of the text.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "collapse/inputs/folded/folded_names.h"
#include "tests/collapse/inputs/inputs.h"
#include "tests/support/scaled.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

Profile read_folded_by(unsigned threads, const std::string& text) {
  ReadOptions options;
  options.threads = threads;
  return read_text(text, "folded", options);
}

std::string folded_error_by(unsigned threads, const std::string& text) {
  ReadOptions options;
  options.threads = threads;
  return error_of(text, "folded", options);
}

// Several blocks of lines in no order, of which some come again.
std::vector<std::string> shuffled_lines() {
  std::mt19937_64 random(7);
  std::vector<std::string> lines;
  std::string path = "main";
  constexpr size_t most = 40000;
  while (lines.size() < most) {
    const size_t depth = random() % 12;
    size_t end = 0;
    for (size_t i = 0; i < depth && end != std::string::npos; ++i) end = path.find(';', end + 1);
    path.resize(std::min(end == 0 ? 4 : end, path.size()));
    for (size_t more = 1 + random() % 3; more > 0; --more)
      path += ";function" + std::to_string(random() % 3000);
    lines.push_back(path + " " + std::to_string(random() % 100) + "\n");
  }
  std::shuffle(lines.begin(), lines.end(), random);
  return lines;
}

std::string joined_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

}  // namespace

TEST_CASE("any number of threads makes the same tree of folded text") {
  std::vector<std::string> lines = shuffled_lines();
  for (const bool sorted : {false, true}) {
    if (sorted) std::sort(lines.begin(), lines.end());
    const std::string text = joined_lines(lines);
    REQUIRE(text.size() > size_t{1} << 20U);
    const Profile one = read_folded_by(1, text);
    for (const unsigned threads : {2U, 3U, 5U}) {
      const Profile same = read_folded_by(threads, text);
      REQUIRE(same.stacks.size() == one.stacks.size());
      bool equal = true;
      for (uint32_t i = 1; i < one.stacks.size(); ++i)
        equal = equal && same.stacks[StackId{i}] == one.stacks[StackId{i}];
      CHECK(equal);
      CHECK(std::equal(one.touched().begin(), one.touched().end(), same.touched().begin(),
                       same.touched().end()));
      CHECK(stacks(same) == stacks(one));
    }
  }
}

TEST_CASE("decimals that come late in folded text count for all threads") {
  const std::string text = joined_lines(shuffled_lines());
  const int64_t total = read_folded_by(1, text).total(0);
  const Profile profile = read_folded_by(3, text + "main;half 0.5\n" + text);
  CHECK(profile.types[0].decimals == 1);
  CHECK(profile.total(0) == 20 * total + 5);
}

TEST_CASE("the first mistake of folded text is told, whoever reads it") {
  std::string text = joined_lines(shuffled_lines());
  const std::string largest = "main;large 9223372036854775807\n";
  const auto lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  text += largest + text + largest + text + "main;larger 92233720368547758070\n" + text;
  const std::string first = folded_error_by(1, text);
  CHECK(first.find(":" + std::to_string(2 * lines + 2) + ":") != std::string::npos);
  for (const unsigned threads : {2U, 3U, 5U})
    for (size_t repeat = 0; repeat < scaled(20); ++repeat)
      CHECK(folded_error_by(threads, text) == first);
}

TEST_CASE("a stack follows another one if what it does not share is new") {
  CHECK(follows_in_order("a;b", "a;b"));
  CHECK(follows_in_order("a;b", "a;b;c"));
  CHECK(follows_in_order("a;b", "a;c"));
  CHECK(follows_in_order("a;b", "a!"));
  CHECK(follows_in_order("a;b;c", "b"));
  CHECK(follows_in_order("", "a"));
  CHECK_FALSE(follows_in_order("a;b", "a"));
  CHECK_FALSE(follows_in_order("a;c", "a;b;d"));
  CHECK_FALSE(follows_in_order("a!", "a;b"));
  CHECK(follows_in_order("f<[u8; 32]>", "f<[u8; 33]>"));
  CHECK_FALSE(follows_in_order("f<[u8; 32]>;g", "f<[u8; 32]>"));
}
