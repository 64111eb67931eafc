// SPDX-License-Identifier: BSD-2-Clause
// perf script as FlameGraph's stackcollapse-perf.pl reads it. The expected text was printed by that
// script (commit 57207afb).
#include <doctest/doctest.h>

#include <array>
#include <sstream>

#include "collapse/input.h"
#include "render/output.h"
#include "tests/collapse/inputs/inputs.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

std::string collapsed(const std::string& text, ReadOptions options = {}) {
  options.compat = true;
  std::ostringstream out;
  write_folded(out, read_text(text, "perf-script", options), {.compat = true});
  return out.str();
}

const std::string head = "app 33 [000] 100.0: 1 cycles:\n";

std::string sample(const std::string& frames, const ReadOptions& options = {}) {
  return collapsed(head + frames + "\n\n", options);
}

struct Option {
  const char* name;
  ReadOptions options;
};
const std::array<Option, 6> with{{{"pid", {.pid = true}},
                                  {"tid", {.tid = true}},
                                  {"kernel", {.mark_kernel = true}},
                                  {"jit", {.mark_jit = true}},
                                  {"all", {.mark_kernel = true, .mark_jit = true}},
                                  {"addrs", {.addresses = true}}}};

}  // namespace

TEST_CASE("public samples, byte for byte") {
  const auto folder = corpus("perf-script");
  if (!folder) return;
  int compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(*folder)) {
    if (entry.path().extension() != ".txt") continue;
    for (const Option& option : with) {
      const std::string stem = entry.path().stem().string();
      CAPTURE(stem);
      CAPTURE(option.name);
      CHECK(collapsed(file_text(entry.path()), option.options) ==
            file_text(*folder / "expected" / (stem + "-collapsed-" + option.name + ".txt")));
      ++compared;
    }
  }
  CHECK(compared == 42);
}

TEST_CASE("only the first event counts, or the one asked for") {
  const std::string text =
      "a b 33 [000] 1.0: 5 cycles:\n\t55 f (/bin/a)\n\n"
      "a b 33 [000] 1.0: 7 instructions:\n\t55 g (/bin/a)\n\n"
      "a b 33 [000] 1.0: kmem:kmalloc: bytes_req=7\n\t55 h (/bin/a)\n\n";
  CHECK(collapsed(text) == "a_b;f 5\na_b;h 1\n");
  CHECK(collapsed(text, {.events = {"instructions"}}) == "a_b;g 7\na_b;h 1\n");
}

TEST_CASE("what it loses is lost") {
  CHECK(sample("\t55 Foo<std::function<void ()> >::bar (/bin/a)") ==
        "app;Foo<std::function<void  1\n");
  CHECK(sample("\t55 (anonymous namespace)::f (/bin/a)\n\t56 main (/bin/a)") == "app;main 1\n");
  CHECK(sample("\t55 n::(anonymous namespace)::f(int) (/bin/a)") ==
        "app;n::(anonymous namespace)::f 1\n");
  CHECK(sample("\t55 it::operator->() (/bin/a)") == "app;it::operator;_[i] 1\n");
  CHECK(sample("\t55 net/http.(*Client).Do (/bin/a)") == "app;net/http.(*Client).Do 1\n");
  CHECK(sample("\t55 a::h0123456789abcdef (/bin/a)") == "app;a::h0123456789abcdef 1\n");
  CHECK(sample("\t55 f (/tmp/my lib.so (deleted))") == "app;f  1\n");
  // A name of one letter.
  CHECK(collapsed("x 1/1 [000] 1.0: 1 cycles:\n\t55 f (/bin/a)\n\n") == "x_1/1_[000]_1.0:;f 1\n");
  // Samples of one line have no stack; pid 0 has no name.
  CHECK(collapsed("app 33 [000] 1.0: 1 cycles:u: ff f (/bin/a)\n\n") == "app 1\n");
  CHECK(collapsed("swapper 0 [000] 1.0: 3 cycles:\n\t55 f (/bin/a)\n\n", {.pid = true}) ==
        "swapper-?;f 3\n");
  CHECK(collapsed(head + "\t55 f (/bin/a)") == "app;f 1\n");
}

TEST_CASE("names and marks") {
  CHECK(sample("\t55 [unknown] (/lib/x y.so)") == "app;[x y.so] 1\n");
  CHECK(sample("\t55 [unknown] ([unknown])", {.addresses = true}) == "app;[unknown <55>] 1\n");
  CHECK(sample("\t55 a->b->c (/tmp/perf-1.map)", {.mark_jit = true}) ==
        "app;a_[j];b_[i];c_[i] 1\n");
  CHECK(sample("\t55 R;e'x\"\x01\xff (/bin/a)") == "app;R:ex\x01\xff 1\n");
  CHECK(sample("\t55 f (vmlinux)\n\t55 g ([unknown])\n\t55 h ([x])", {.mark_kernel = true}) ==
        "app;h_[k];g;f_[k] 1\n");
  CHECK(collapsed("java 3 cycles:\n\t55 La/b;.c(La/C;)V (/x)\n\t55 Lb (/x)\n\n") ==
        "java;Lb;a/b:.c 1\n");
}

TEST_CASE("source lines") {
  CHECK(sample(
            "\t55 f+0x8b (/bin/a)\n  f.cc:300\n\t56 [unknown] ([unknown])\n\t57 g (/x)\n  a[27b25]",
            {.lines = true}) == "app;g:a;[unknown];f:f.cc:300 1\n");
}

TEST_CASE("inlined functions of a file that is not there are not asked for") {
  CHECK(sample("\t55 f+0x2 (/nowhere/a)\n\t56 g ([kernel.kallsyms])", {.mark_inlined = true}) ==
        "app;g;f 1\n");
}

TEST_CASE("lines are in the order of their stacks, zeros too") {
  CHECK(collapsed("ab 1 2: 5 c:\n\t55 f (/x)\n\nab 1 2: 3 c:\n\t55 f ! (/x)\n\n") ==
        "ab;f 5\nab;f ! 3\n");
  CHECK(collapsed("ab 00 [000] 1.0: 00 c:\n\t55 h (/bin/a)\n\n") == "ab;h 0\n");
}
