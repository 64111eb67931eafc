// SPDX-License-Identifier: BSD-2-Clause
// What other tools get wrong, where no test of one reader shows that it goes right here; the whole
// list, with the tests of each, is in docs/development/defects.md.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "collapse/fold/diff.h"
#include "render/output.h"
#include "tests/collapse/inputs/inputs.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

std::string written(std::string_view format, const Profile& p) {
  std::ostringstream out;
  output_for(format, "").write(out, p, {.header = false});
  return out.str();
}

// "main 10", for each callee of the first frame, with all it calls.
std::vector<std::string> callees(const std::string& text) {
  const auto tree = nlohmann::json::parse(written("tree", read_text(text)));
  std::vector<std::string> list;
  for (const auto& node : tree["children"][0]["children"])
    list.push_back(node["name"].get<std::string>() + " " +
                   std::to_string(node["value"].get<int>()));
  return list;
}

}  // namespace

TEST_CASE("a function beside others that begin with its name is one function") {
  CHECK(callees("a;b 100\na;b-c 100\na;b;c 100\n") == std::vector<std::string>{"b 200", "b-c 100"});
  CHECK(callees("a;main 5\na;main.cold 3\na;main::y 2\na;main;x 5\na;main(int) 1\na;main+1 1\n") ==
        std::vector<std::string>{"main 10", "main(int) 1", "main+1 1", "main.cold 3", "main::y 2"});
  CHECK(written("folded", read_text("a;main 5\na;main.cold 3\na;main;x 5\n")) ==
        "a;main 5\na;main;x 5\na;main.cold 3\n");
}

TEST_CASE("a name that ends in a blank is the same name as leaf and as caller") {
  CHECK(callees("a;f  5\na;f ;g 3\na;f 1\n") == std::vector<std::string>{"f 1", "f  8"});
  CHECK(written("folded", read_text("a;f  5\na;f ;g 3\n")) == "a;f  5\na;f ;g 3\n");
}

TEST_CASE("negative figures of other tools' differences are kept, however they are spelt") {
  CHECK(stacks(read_text("main;freed -4096\r\nmain;grown 12  \r\nmain;tab\t-1\r\n")) ==
        Stacks{{"main;freed", -4096}, {"main;grown", 12}, {"main;tab", -1}});
}

TEST_CASE("figures in other spellings are refused by name, not dropped in silence") {
  const Profile p = read_text("a;x 1\nb 1e9\nc 4KiB\nd 1,000\na;y 2\na;z 3\ny 4\n");
  CHECK(stacks(p) == Stacks{{"a;x", 1}, {"a;y", 2}, {"a;z", 3}, {"y", 4}});
  CHECK(p.losses[Loss::input_line].events == 3);
  CHECK(p.meta.notes.front() ==
        "3 lines not understood (no number at its end), the first is line 2: 'b 1e9'");
}

TEST_CASE("where everything has vanished there is still a difference, and a picture") {
  for (const Profile& p :
       {read_text("a;b 5 0\n"), diff(read_text("a;b 5\n"), read_text("c 0\nd 1\n"), {})}) {
    CHECK(stacks(p, "before") == Stacks{{"a;b", 5}});
    CHECK(written("svg", p).find("<svg") != std::string::npos);
  }
}

TEST_CASE("the whole of a function's name tells it from others") {
  const std::string head = "x 1/1 [000] 1.0: 1 cycles:\n\t1 ";
  const Profile p = read_text(head + "Foo<std::function<void ()> >::bar (/a)\n\n" + head +
                              "Foo<std::function<void (int)> >::bar (/a)\n\n" + head +
                              "x::{lambda(int)#1}::operator() (/a)\n\n" + head +
                              "x::{lambda(int)#2}::operator() (/a)\n\n" + head +
                              "(anonymous namespace)::leaf (/a)\n\t2 caller (/a)\n\n");
  CHECK(stacks(p) == Stacks{{"x;Foo<std::function<void ()> >::bar", 1},
                            {"x;Foo<std::function<void (int)> >::bar", 1},
                            {"x;x::{lambda(int)#1}::operator()", 1},
                            {"x;x::{lambda(int)#2}::operator()", 1},
                            {"x;caller;(anonymous namespace)::leaf", 1}});
}

TEST_CASE("bpftrace: a key between stacks is not a frame, stacks after a negative sum are whole") {
  const Profile p = read_text(
      "@bytes[\n    vfs_read+1\n    do_syscall_64+2\n, \n    read+1\n    main+2\n, bash]: -4096\n"
      "@bytes[\n    vfs_read+9\n    do_syscall_64+2\n, \n    read+3\n    main+4\n, bash]: 8\n"
      "@other[\n    main+2\n]: 1\n");
  const std::string stack = "bash;main;read;do_syscall_64;vfs_read";
  CHECK(stacks(p, "bytes") == Stacks{{stack, 8 - 4096}});
  CHECK(stacks(p, "other") == Stacks{{"main", 1}});
}
