// SPDX-License-Identifier: BSD-2-Clause
#include "cli/output_file.h"

#include <doctest/doctest.h>

using memflame::numbered_name;

TEST_CASE("a number in a file's name comes before what says its format") {
  CHECK(numbered_name("heap.svg", ".svg", 1) == "heap.1.svg");
  CHECK(numbered_name("/a.b/heap.speedscope.json", ".speedscope.json", 12) ==
        "/a.b/heap.12.speedscope.json");
  CHECK(numbered_name("heap.pb.gz", ".pb.gz", 2) == "heap.2.pb.gz");
  CHECK(numbered_name("heap.txt", ".folded", 2) == "heap.2.txt");
  CHECK(numbered_name("/a.b/heap", ".svg", 2) == "/a.b/heap.2");
  CHECK(numbered_name(".svg", ".svg", 3) == ".svg.3");
  CHECK(numbered_name("/a/.hidden", ".svg", 3) == "/a/.hidden.3");
}
