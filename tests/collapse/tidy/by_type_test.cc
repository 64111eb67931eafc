// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <string>

#include "core/error.h"
#include "tests/collapse/tidy/tidy_fixture.h"

using namespace memflame;

namespace {

Lines by_type(const std::string& text, TidyOptions options = {}) {
  options.by_type = true;
  const Profile before = profile_of(text);
  const Profile after = tidy(profile_of(text), options);
  CHECK(after.total(0) == before.total(0));
  return lines(after);
}

const std::string stack =
    "main;app::load();std::vector<app::Node, std::allocator<app::Node> >::reserve(unsigned "
    "long);std::__new_allocator<app::Node>::allocate(unsigned long, void const*);operator "
    "new(unsigned long);malloc";

}  // namespace

TEST_CASE("--by-type: the innermost function that tells a type decides") {
  CHECK(by_type(stack + " 8\n") == Lines{{"app::Node;" + stack, 8}});
  CHECK(by_type("main;std::vector<app::Outer>::emplace_back();app::Outer::Outer();std::vector<"
                "app::Inner>::reserve();operator new(unsigned long) 8\n")
            .begin()
            ->first.starts_with("app::Inner;main;"));
}

TEST_CASE("--by-type: without a type, the caller of the allocator") {
  CHECK(
      by_type("main;parse;malloc 8\nmain 2\nmalloc 1\n") ==
      Lines{{"[in parse];main;parse;malloc", 8}, {"[in main];main", 2}, {"[allocator];malloc", 1}});
  CHECK(by_type("main;[libx.so+0x12];malloc 8\n") ==
        Lines{{"[in libx.so+0x12];main;[libx.so+0x12];malloc", 8}});
  // An element's constructor is code of its own: what it allocates is not an element.
  CHECK(by_type("main;std::vector<app::Outer>::emplace_back();app::Outer::Outer();malloc 8\n")
            .begin()
            ->first.starts_with("[in app::Outer::Outer()];main;"));
}

TEST_CASE("--by-type: letters belong to their string") {
  const std::string text =
      "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";
  const std::string letters = "std::__new_allocator<char>::allocate(unsigned long, void const*) ";
  CHECK(by_type("f;" + text + "::_M_create(unsigned long&, unsigned long);" + letters + "8\n")
            .begin()
            ->first.starts_with("std::string;f;"));
  CHECK(by_type("f;std::vector<char, std::allocator<char> >::reserve(unsigned long);" + letters +
                "8\n")
            .begin()
            ->first.starts_with("char;f;"));
  CHECK(by_type("f;g();" + letters + "8\n").begin()->first.starts_with("char;f;"));
}

TEST_CASE("--by-type with other steps") {
  TidyOptions options;
  options.allocators = Allocators::hide;
  options.recursion = Recursion::cycles;
  CHECK(by_type("main;parse;malloc 8\n", options) == Lines{{"[in parse];main;parse", 8}});
  options = {};
  options.reversed = true;
  CHECK(by_type("main;parse;malloc 8\nmain 2\n", options) ==
        Lines{{"main;parse;malloc;[in parse]", 8}, {"main;[in main]", 2}});
  options = {};
  options.shorten.templates = true;
  CHECK(by_type("f;std::allocator<app::Map<int>>::allocate(unsigned long) 1\n", options)
            .begin()
            ->first.starts_with("app::Map<…>;f;"));
}

TEST_CASE("--by-type: a note if nothing tells a type") {
  TidyOptions options;
  options.by_type = true;
  const Profile none = tidy(profile_of("main;f 1\n"), options);
  REQUIRE(none.meta.notes.size() == 1);
  CHECK(none.meta.notes[0].starts_with("no function names a type"));
  CHECK(tidy(profile_of(stack + " 8\n"), options).meta.notes.empty());
}

TEST_CASE("--by-type: a deep chain in which each function is a group") {
  std::string text = "f0";
  for (int i = 1; i < 10000; ++i) text += ";f" + std::to_string(i);
  std::string all;
  for (size_t end = text.find(';'); end != std::string::npos; end = text.find(';', end + 1))
    if (end % 16 == 0) all += text.substr(0, end) + " 1\n";
  TidyOptions options;
  options.by_type = true;
  CHECK_NOTHROW(tidy(profile_of(all), options));
}
