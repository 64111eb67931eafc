// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "core/error.h"
#include "tests/collapse/tidy/tidy_fixture.h"
#include "tests/support/scaled.h"
#include "tests/support/skipped.h"

using namespace memflame;

namespace {

Profile recursion(const std::string& text, Recursion what) {
  return collapse_recursion(profile_of(text), what);
}

std::string file_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Two columns with a variance, a finding, a loss and a note.
Profile full_profile() {
  Profile profile;
  profile.types = {{.name = "live", .unit = Unit::bytes, .variance = 1, .variance_unit = 4},
                   {.name = "variance", .unit = Unit::variance},
                   {.name = "time", .unit = Unit::nanoseconds, .decimals = 2}};
  profile.shown = 2;
  const StackId main = profile.push({}, "main", FrameKind::user, "/bin/app", "main.cc", 3);
  const StackId f = profile.push(main, "f<int>(int)", FrameKind::user, "/bin/app", "f.cc", 9);
  const StackId again = profile.push(f, "f<char>(int)", FrameKind::user, "/bin/app", "f.cc", 9);
  profile.add(again, std::array<int64_t, 3>{5, INT64_MAX, 700});
  profile.add(f, std::array<int64_t, 3>{-3, INT64_MAX, 100});
  Finding finding;
  finding.freeing = again;
  finding.allocating = main;
  profile.findings.push_back(finding);
  profile.losses.add(Loss::input_line, 3, 4);
  profile.meta.title = "T";
  profile.meta.notes = {"a note"};
  return profile;
}

TidyOptions everything() {
  TidyOptions options;
  options.demangle = true;
  options.allocators = Allocators::hide;
  options.shorten = {true, true, true, true, true, true, true};
  options.modules = ModuleFrames::between;
  options.recursion = Recursion::cycles;
  options.top = 1000;
  return options;
}

}  // namespace

TEST_CASE("direct recursion") {
  CHECK(lines(recursion("a;f;f;f;g 1\na;f;f;g 2\na;n;f 4\nf;f 8\na;f;g;f;f 16\n",
                        Recursion::direct)) ==
        Lines{{"a;f;g", 3}, {"a;n;f", 4}, {"f", 8}, {"a;f;g;f", 16}});
  CHECK(lines(recursion("f;f_[i];f_[k];f 1\n", Recursion::direct)) == Lines{{"f;f_[k];f", 1}});
}

TEST_CASE("recursion by way of others") {
  CHECK(lines(recursion("a;b;a;b 1\na;b;a;c 2\nm;a;b;c;b;a;d 4\na;b;c;d;e;c;x 8\nf;f;f 16\n",
                        Recursion::cycles)) ==
        Lines{{"a;b", 1}, {"a;c", 2}, {"m;a;d", 4}, {"a;b;c;x", 8}, {"f", 16}});
}

TEST_CASE("recursion: the public sample") {
  const std::filesystem::path folder = std::filesystem::path(CORPORA) / "recursive";
  if (!std::filesystem::exists(folder)) {
    skip("public samples: no " + folder.string());
    return;
  }
  const std::string text = file_text(folder / "basic.txt");
  CHECK(lines(recursion(text, Recursion::direct)) ==
        lines(profile_of(file_text(folder / "basic.expected.txt"))));
}

TEST_CASE("the largest stacks") {
  const std::string text = "a 1\nb -9\nc 5\nd 5\ne 5\n";
  CHECK(lines(top_stacks(profile_of(text), 2)) ==
        Lines{{"b", -9}, {"c", 5}, {"[other stacks: 3]", 11}});
  CHECK(lines(top_stacks(profile_of(text), 5)) == lines(profile_of(text)));
  CHECK(lines(top_stacks(profile_of("a " + std::to_string(INT64_MIN) + "\nb 1\n"), 1)) ==
        Lines{{"a", INT64_MIN}, {"[other stacks: 1]", 1}});
}

TEST_CASE("nothing asked for, nothing changed") {
  Profile before = full_profile();
  before.push({}, "unused");
  const Profile after = tidy(before, {});
  CHECK(after.strings.size() == before.strings.size());
  CHECK(after.stacks.size() == before.stacks.size());
  CHECK(lines(after) == lines(before));
}

TEST_CASE("everything else is carried over, and names that nobody needs are gone") {
  TidyOptions options;
  options.shorten.templates = true;
  options.shorten.arguments = true;
  options.recursion = Recursion::direct;
  const Profile before = full_profile();
  const Profile after = tidy(before, options);
  CHECK(lines(after) == Lines{{"main;f<…>", 800}});
  CHECK(after.types == before.types);
  CHECK(after.total(0) == 2);
  CHECK(after.total(1) == INT64_MAX);
  CHECK(after.shown == 2);
  REQUIRE(after.findings.size() == 1);
  CHECK(after.findings[0].freeing == after.touched()[0]);
  CHECK(after.stacks[after.findings[0].freeing].caller == after.findings[0].allocating);
  CHECK_FALSE(after.findings[0].first_freeing);
  CHECK(after.losses[Loss::input_line].events == 3);
  CHECK(after.meta.notes == before.meta.notes);
  CHECK(after.meta.title == "T");
  const Frame& frame = after.frames[after.stacks[after.touched()[0]].frame];
  CHECK(after.strings[frame.module] == "/bin/app");
  CHECK(frame.line == 9);
  for (uint32_t i = 0; i < after.strings.size(); ++i)
    CHECK(after.strings[StringId{i}].find("int") == std::string_view::npos);
}

TEST_CASE("a finding whose stack is dropped has none") {
  TidyOptions options;
  options.exclude = patterns({"char"}, "--exclude");
  const Profile after = tidy(full_profile(), options);
  CHECK(lines(after) == Lines{{"main;f<int>(int)", 100}});
  CHECK_FALSE(after.findings[0].freeing);
  CHECK(after.findings[0].allocating);
  CHECK(after.meta.notes.back() == "--exclude dropped 1 stack, 7 ns");
}

TEST_CASE("sums beyond 64 bits are an error") {
  TidyOptions options;
  options.recursion = Recursion::direct;
  CHECK_THROWS_AS(tidy(profile_of("f 9223372036854775807\nf;f 9223372036854775807\n"), options),
                  Error);
}

TEST_CASE("the order of steps") {
  TidyOptions options;
  options.demangle = true;
  options.include = patterns({"^void f<int>"}, "--include");  // names before they are shortened
  options.allocators = Allocators::hide;
  options.rename = {Renaming("^void f<int>=void g<int>")};
  options.shorten.templates = options.shorten.arguments = true;
  options.recursion = Recursion::direct;
  options.top = 1;
  const Profile after = tidy(profile_of("main;_Z1fIiEvT_;_Z1gIcEvT_;_Znwm;malloc 4\n"
                                        "main;x;_Z1fIiEvT_ 1\nmain;y 2\n"),
                             options);
  CHECK(lines(after) == Lines{{"main;g<…>", 4}, {"[other stacks: 1]", 1}});
}

TEST_CASE("a second time changes nothing") {
  const std::string text =
      "m;void a::b::f<int>(int);a::b::f<char>(char);std::x<y>::z() const;malloc 4\n"
      "m;Lcom/x/Y;::m;github.com/a/b.(*T).m;f::h0123456789abcdef;m 8\n";
  const Profile once = tidy(profile_of(text), everything());
  CHECK(lines(tidy(once, everything())) == lines(once));
}

TEST_CASE("a stack of a million frames, and a million stacks") {
  Profile deep, wide;
  deep.types = wide.types = {{"bytes", Unit::bytes}};
  constexpr size_t many = scaled(1'000'000);
  constexpr std::array<int64_t, 1> one{1};
  StackId top;
  for (size_t i = 0; i < many; ++i) {
    top = deep.push(top, "f<int>(" + std::to_string(i % 70'000) + ")");
    if (i % 7 == 0) deep.add(top, one);
    const StackId stack = wide.push(wide.push({}, "f<int>(" + std::to_string(i % 1000) + ")"),
                                    "g(" + std::to_string(i) + ")");
    wide.add(stack, one);
  }
  TidyOptions options = everything();
  options.shorten.arguments = false;
  options.hide = patterns({"\\(3\\)$"}, "--hide");
  CHECK(tidy(deep, options).total(0) == deep.total(0));
  options.top = 0;
  const Profile tidied = tidy(wide, options);
  CHECK(tidied.total(0) == static_cast<int64_t>(many));
  CHECK(tidied.touched().size() == many);
}
