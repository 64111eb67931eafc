// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/custom/custom.h"

#include <doctest/doctest.h>

#include <array>
#include <span>
#include <string>

#include "core/error.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

std::string error_of(CustomFunction (*parse)(std::string_view), std::string_view text) {
  try {
    parse(text);
  } catch (const Error& error) {
    CHECK(error.exit_code == ExitCode::usage);
    return error.what();
  }
  return "no error";
}

struct Wrong {
  const char* text;
  int column;
  const char* expected;
};

void check_all(CustomFunction (*parse)(std::string_view), const char* option,
               std::span<const Wrong> table) {
  for (const Wrong& wrong : table) {
    CAPTURE(wrong.text);
    CHECK(error_of(parse, wrong.text) == std::string(option) + " '" + wrong.text + "', column " +
                                             std::to_string(wrong.column) + ": expected " +
                                             wrong.expected);
  }
}

}  // namespace

TEST_CASE("a plain pair") {
  const CustomFunction alloc = parse_alloc("/opt/lib.so:my_alloc(size=arg0,ptr=ret)");
  CHECK(alloc.file == "/opt/lib.so");
  CHECK(alloc.function == "my_alloc");
  CHECK(alloc.shape.action == bpf::action_allocate);
  CHECK(alloc.shape.size == 1);
  CHECK(alloc.shape.count == 0);
  CHECK(alloc.shape.out == 0);
  CHECK(alloc.shape.int_size == 0);
  CHECK_FALSE(alloc.later);
  const CustomFunction free = parse_free("my_free(ptr=arg2)");
  CHECK(free.file.empty());
  CHECK(free.shape.action == bpf::action_free);
  CHECK(free.shape.block == 3);
}

TEST_CASE("everything that an allocation can say") {
  const CustomFunction all =
      parse_alloc("a:b.so*:f(size32=arg1*arg2,ptr=*arg0,old=arg5,throws,zero-frees,later)");
  CHECK(all.file == "a:b.so*");
  CHECK(all.shape.size == 2);
  CHECK(all.shape.count == 3);
  CHECK(all.shape.int_size == 1);
  CHECK(all.shape.out == 1);
  CHECK(all.shape.block == 6);
  CHECK(all.shape.own_end == 1);
  CHECK(all.shape.always_frees == 1);
  CHECK(all.later);
  const CustomFunction pool = parse_alloc("f(pool=arg0,size=arg1)");
  CHECK(pool.shape.pool == 1);
  CHECK(pool.shape.size == 2);
  CHECK(parse_free("f(pool=arg3,forwards)").shape.pool == 4);
  CHECK(parse_free("f(pool=arg3,forwards)").shape.forwards == 1);
}

TEST_CASE("code without a name") {
  const CustomFunction at = parse_free("/bin/x:+0x1a40(ptr=arg0)");
  CHECK(at.offset == 0x1a40);
  CHECK(at.function.empty());
  CHECK(at.file == "/bin/x");
}

TEST_CASE("what is wrong with an allocation, and where") {
  constexpr std::array table{
      Wrong{"f", 2, "'(' and what the arguments are"},
      Wrong{"", 1, "'(' and what the arguments are"},
      Wrong{"lib.so:(size=arg0)", 8, "a function's name, or +OFFSET"},
      Wrong{"my alloc(size=arg0)", 3, "a function's name without spaces"},
      Wrong{"ns::f(size=arg0)", 5,
            "the function's name as the linker knows it (nm -D FILE lists them)"},
      Wrong{"f(size=arg6)", 8, "arg0 to arg5 (arguments in registers)"},
      Wrong{"f(size=1)", 8, "arg0 to arg5"},
      Wrong{"f(size=arg01)", 8, "arg0 to arg5 (arguments in registers)"},
      Wrong{"f(size=arg0*2)", 13, "arg0 to arg5"},
      Wrong{"f(size=arg0,ptr=arg1)", 17, "ret, or *argN for an address that is written there"},
      Wrong{"f(size=arg0,ptr=return)", 20, "',' or ')'"},
      Wrong{"f(size=arg0", 12, "',' or ')'"},
      Wrong{"f(size=arg0)x", 13, "nothing after ')'"},
      Wrong{"f(size=arg0,size=arg1)", 13, "size= only once"},
      Wrong{"f(ptr=ret)", 3, "size= or size32=, the bytes asked for"},
      Wrong{"f(size=arg0,zero-frees)", 3, "old= with zero-frees: the block that size 0 frees"},
      Wrong{"f(size=arg0,pool=arg1,old=arg2)", 3, "either old= or pool="},
      Wrong{"f(size=arg0,size32=arg1)", 20, "either size= or size32="},
      Wrong{"f()", 3, "one of size=, size32=, ptr=, old=, pool=, throws, zero-frees, later"},
      Wrong{"f(throws=1)", 3,
            "one of size=, size32=, ptr=, old=, pool=, throws, zero-frees, later"},
      Wrong{"f(size)", 3, "one of size=, size32=, ptr=, old=, pool=, throws, zero-frees, later"},
      Wrong{"+0x10(size=arg0)", 1, "FILE: in front of an offset"},
      Wrong{"x:+0xq(size=arg0)", 3, "an offset in the file in hexadecimal, like +0x1a40"},
      Wrong{"x:+(size=arg0)", 3, "an offset in the file in hexadecimal, like +0x1a40"},
      Wrong{"x:+0x10000000000000000(size=arg0)", 3,
            "an offset in the file in hexadecimal, like +0x1a40"},
  };
  check_all(parse_alloc, "--alloc", table);
}

TEST_CASE("what is wrong with a free, and where") {
  constexpr std::array table{
      Wrong{"f(size=arg0)", 3, "one of ptr=, pool=, forwards, later"},
      Wrong{"f(ptr=ret)", 7, "arg0 to arg5"},
      Wrong{"f(ptr=*arg0)", 7, "arg0 to arg5"},
      Wrong{"f(later)", 3, "either ptr= or pool=, what is freed"},
      Wrong{"f(ptr=arg0,pool=arg1)", 3, "either ptr= or pool=, what is freed"},
  };
  check_all(parse_free, "--free", table);
}

TEST_CASE("a declaration of a megabyte is refused without repeating it") {
  const std::string said = error_of(parse_alloc, std::string(1 << 20, 'x'));
  CHECK(said.size() < 200);
  CHECK(said.find("limit of 4096") != std::string::npos);
}

TEST_CASE("pools need their end, blocks do not") {
  CHECK_NOTHROW(read_custom({"f(size=arg0)"}, {}, {}));
  CHECK_NOTHROW(read_custom({}, {"f(ptr=arg0)"}, {}));
  CHECK_NOTHROW(read_custom({"f(size=arg0,pool=arg1)"}, {"g(pool=arg0)"}, {}));
  CHECK_THROWS_WITH_AS(read_custom({"f(size=arg0,pool=arg1)"}, {"g(ptr=arg0)"}, {}),
                       doctest::Contains("none that frees one"), Error);
  CHECK_THROWS_WITH_AS(read_custom({"f(size=arg0)"}, {"g(pool=arg0)"}, {}),
                       doctest::Contains("none that allocates from one"), Error);
}

TEST_CASE("globs") {
  CHECK(glob_matches("*", ""));
  CHECK(glob_matches("libcuda.so*", "libcuda.so.1"));
  CHECK(glob_matches("*python*", "libpython3.11.so.1.0"));
  CHECK(glob_matches("a?c", "abc"));
  CHECK(glob_matches("*.so", "a.so.so"));
  CHECK_FALSE(glob_matches("a?c", "ac"));
  CHECK_FALSE(glob_matches("libcuda.so", "libcuda.so.1"));
  CHECK_FALSE(glob_matches("", "a"));
  // At most the product of the two lengths, whatever the pattern.
  CHECK_FALSE(glob_matches(std::string(1000, '*') + "b", std::string(100000, 'a')));
}
