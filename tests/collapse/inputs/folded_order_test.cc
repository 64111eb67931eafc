// SPDX-License-Identifier: BSD-2-Clause
// Lines in the order of their names are read without looking stacks up, others by look-ups. Both
// must give the same tree.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "collapse/input.h"
#include "tests/collapse/inputs/inputs.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

using Names = std::vector<std::string>;

std::vector<Names> made_stacks(size_t count, std::mt19937_64& random) {
  const std::vector<std::string> names{"a", "a b",   "b!", "f<[u8; 32]>", "f<[u8", "x_[k]",
                                       "x", "[lost", "",   "ab",          "a_[i]", "zz",
                                       "~", "\xff"};
  std::vector<Names> all(count);
  for (Names& stack : all)
    for (size_t depth = 1 + random() % 6; depth > 0; --depth)
      stack.push_back(names[random() % names.size()]);
  return all;
}

std::string joined(const Names& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) (text += i == 0 ? "" : ";") += names[i];
  return text;
}

std::string text_of(const std::vector<Names>& all) {
  std::string text;
  for (const Names& names : all) text += joined(names) + " 1\n";
  return text;
}

// The stacks as text, with the kinds of frames; every stack of the tree must be another one.
Stacks checked_stacks(const std::string& text, unsigned threads = 1) {
  ReadOptions options;
  options.threads = threads;
  const Profile profile = read_text(text, "folded", options);
  std::set<std::vector<uint32_t>> paths;
  for (uint32_t i = 1; i < profile.stacks.size(); ++i) {
    std::vector<uint32_t> path;
    for (const FrameId frame : profile.path(StackId{i})) path.push_back(frame.index);
    CHECK(paths.insert(path).second);
    CHECK(profile.stacks[StackId{i}].caller < StackId{i});
  }
  return stacks(profile);
}

}  // namespace

TEST_CASE("any order of lines gives the same tree") {
  std::mt19937_64 random(1);
  for (int round = 0; round < 60; ++round) {
    std::vector<Names> all = made_stacks(1 + random() % 300, random);
    const Stacks expected = checked_stacks(text_of(all));
    std::sort(all.begin(), all.end());  // in the order of names
    CHECK(checked_stacks(text_of(all)) == expected);
    std::sort(all.begin(), all.end(),
              [](const Names& a, const Names& b) { return joined(a) < joined(b); });
    CHECK(checked_stacks(text_of(all)) == expected);
    std::reverse(all.begin(), all.end());
    CHECK(checked_stacks(text_of(all)) == expected);
  }
}

TEST_CASE("sums follow whoever writes the lines, in order for a while or not") {
  CHECK(checked_stacks("a;b 1\na;b;c 2\na;b 3\na;b;c 4\nb 5\na;b;c 6\na;b;d 7\n") ==
        Stacks{{"a;b", 4}, {"a;b;c", 12}, {"a;b;d", 7}, {"b", 5}});
  CHECK(checked_stacks("a 1\na!;x 2\na;b 3\na!;y 4\n") ==
        Stacks{{"a", 1}, {"a!;x", 2}, {"a;b", 3}, {"a!;y", 4}});
  CHECK(checked_stacks("a;b 1\n# note\nno number\na;b 2\na;b;c 3\n") ==
        Stacks{{"a;b", 3}, {"a;b;c", 3}});
}

TEST_CASE("order holds across blocks, and threads agree") {
  std::string text;
  const std::string end(100, 'x');
  constexpr int lines = 30000;
  for (int i = 0; i < lines; ++i)
    text += "main;" + std::to_string(100000 + i / 10) + ";" + std::to_string(i) + end + " 1\n";
  REQUIRE(text.size() > (size_t{3} << 20U));
  const Stacks once = checked_stacks(text);
  CHECK(once.size() == lines);
  CHECK(checked_stacks(text, 2) == once);
  Stacks twice = once;
  for (auto& [stack, value] : twice) value *= 2;
  CHECK(checked_stacks(text + text) == twice);
}

TEST_CASE("stacks that are too deep share the frame for what is behind") {
  ReadOptions options;
  options.max_frames = 2;
  const Profile profile = read_text("a;b;c 1\na;b;d 2\na;b;d;e 4\na;c 8\n", "folded", options);
  CHECK(profile.stacks.size() == 5);  // none, a, a;b, its truncated part, a;c
  CHECK(profile.touched().size() == 2);
  CHECK(profile.values(profile.touched()[0])[0] == 7);
}
