// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <cstdint>
#include <sstream>

#include "tests/collapse/inputs/inputs.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

const std::string header =
    "CPU     ID                    FUNCTION:NAME\n  0  64091                        :tick-60s "
    "\n\n\n";
const std::string in = "              ";

Profile read(const std::string& text, const ReadOptions& options = {}) {
  return read_text(text, "dtrace", options);
}

Stacks of(const std::string& text, const ReadOptions& options = {}) {
  return stacks(read(text, options), "", true);
}

bool noted(const Profile& profile, const std::string& part) {
  for (const std::string& note : profile.meta.notes)
    if (note.find(part) != std::string::npos) return true;
  return false;
}

// The lines of an expected output.
Stacks folded(const std::string& text) {
  std::istringstream lines(text);
  Stacks out;
  for (std::string line; std::getline(lines, line);) {
    line.erase(line.find_last_not_of(" \t\r") + 1);
    const size_t blank = line.rfind(' ');
    if (blank != std::string::npos)
      out[line.substr(0, blank)] += std::stoll(line.substr(blank + 1));
  }
  return out;
}

}  // namespace

TEST_CASE("names are whole, files are modules, offsets go") {
  const std::string text = header + in + "libc.so.1`operator new(unsigned long)+0x1c\n" + in +
                           "a.out`std::vector<int>::push_back(int&&)+0x7\n" + in +
                           "a.out`(anonymous namespace)::main\n                4096\n";
  const Profile p = read(text);
  CHECK(stacks(p) == Stacks{{"(anonymous namespace)::main;std::vector<int>::push_back(int&&);"
                             "operator new(unsigned long)",
                             4096}});
  CHECK(p.strings[p.frames[p.path(p.touched()[0])[0]].module] == "a.out");
  CHECK(p.types == std::vector<ValueType>{{"count", Unit::count}});
  CHECK(p.losses.lost_events() == 0);
  CHECK(p.meta.notes.empty());
  CHECK(of(text, {.offsets = true}).begin()->first.find("operator new(unsigned long)+0x1c") !=
        std::string::npos);
  CHECK(read(text, {.type = ValueType{"bytes", Unit::bytes}}).types[0].unit == Unit::bytes);
}

TEST_CASE("without a header no stack is taken for one") {
  CHECK(of(in + "a`f+0x1\n" + in + "a`main+0x2\n                3\n\n" + in + "a`g+0x1\n   4\n") ==
        Stacks{{"main;f", 3}, {"g", 4}});
  CHECK(of("dtrace: description 'x' matched 2 probes\n^C\n\n" + in +
           "a`f+0x1\n                3\n") == Stacks{{"f", 3}});
}

TEST_CASE("negative sums, addresses, frames without a module") {
  CHECK(of(header + in + "a`f+0x1\n                -4096\n\n" + in + "0x7f00\n" + in +
           "java/lang/Thread.run()V+0x2\n                1\n") ==
        Stacks{{"f", -4096}, {"java/lang/Thread.run()V;0x7f00", 1}});
}

TEST_CASE("the kernel's stack is on top of the program's") {
  const std::string kernel = in + "zfs`zfs_write+0x1\n" + in + "unix`sys_syscall+0x2\n";
  const std::string user = in + "libc.so.1`__write+0xa\n" + in + "a`main+0x1\n";
  const Stacks expected{{"main;__write;sys_syscall_[k];zfs_write_[k]", 2}};
  CHECK(of(header + kernel + "\n" + user + "                2\n") == expected);
  CHECK(of(header + user + "\n" + kernel + "                2\n") == expected);
}

TEST_CASE("the kernel of macOS has the machine's name") {
  CHECK(of(header + "\n" + in + "kernel.release.t6000`vm_fault+0x10\n\n" + in +
           "a.out`main+0x1\n                5\n") == Stacks{{"main;vm_fault_[k]", 5}});
}

TEST_CASE("further keys are root frames") {
  const std::string stack = in + "a`f+0x1\n" + in + "a`main+0x2\n";
  CHECK(of(header + "  sshd                               \n" + stack + "                2\n") ==
        Stacks{{"sshd;main;f", 2}});
  CHECK(of(header + "      1234\n" + stack + "                2\n") == Stacks{{"1234;main;f", 2}});
  CHECK(of(header + stack + "  my program                         12\n\n" + stack + "  b    3\n") ==
        Stacks{{"my program;main;f", 12}, {"b;main;f", 3}});
  CHECK(of(header + "\n                5\n\n" + stack + "                2\n") ==
        Stacks{{"[no stack]", 5}, {"main;f", 2}});
}

TEST_CASE("keys beside each other: the number before a stack is not a value") {
  const std::string stack = in + "a.out`main+0x1\n                5\n";
  CHECK(of("\n  bash                          1234\n" + stack) == Stacks{{"bash;1234;main", 5}});
  CHECK(of("\n  bash                          1234               77\n" + stack) ==
        Stacks{{"bash;1234;77;main", 5}});
  CHECK(of("\n             1234  my prog, v 2                    \n" + stack) ==
        Stacks{{"1234;my prog, v 2;main", 5}});
  CHECK(of("\n             1234               77\n" + stack) == Stacks{{"1234;77;main", 5}});
  // A map without stacks before it.
  CHECK(of("\n  bash                            12\n  sh                               3\n\n" +
           stack) == Stacks{{"bash;[no stack]", 12}, {"sh;[no stack]", 3}, {"main", 5}});
}

TEST_CASE("a distribution counts its events") {
  CHECK(of(header + in +
           "a`f+0x1\n\n           value  ------------- Distribution ------------- count\n"
           "              16 |                                         0\n"
           "              32 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@ 12\n"
           "              64 |@                                        1\n\n" +
           in + "a`g+0x1\n                1\n") == Stacks{{"f", 13}, {"g", 1}});
}

TEST_CASE("an input that ends in the middle of a stack") {
  const std::string cut = header + in + "a`f+0x1\n                4\n\n" + in + "a`g+0x1\n";
  for (const bool compat : {false, true}) {
    const Profile p = read(cut, {.compat = compat});
    CHECK(p.total(0) == 4);
    CHECK(p.losses[Loss::input_line].events == 1);
    CHECK(noted(p, "the input ends in the middle of a stack: it has no value and is left out"));
    CHECK(error_of(cut, "dtrace", {.refuse_truncated = true, .compat = compat})
              .find("ends in the middle of a stack") != std::string::npos);
  }
  CHECK(noted(read(header + in + "a`f+0x1\n                4"), "may be cut off"));
  CHECK(error_of("", "dtrace") == "text: no stack with a number below it in it");
  CHECK(error_of(header, "dtrace").find("no stack with a number below it") != std::string::npos);
  CHECK(error_of(header + in + "a`f\n   9223372036854775808\n", "dtrace").find("64 bits") !=
        std::string::npos);
}

TEST_CASE("recognition") {
  CHECK(recognised("\n" + in +
                   "a.out`main+0x1\n\n           value  ------------- Distribution "
                   "------------- count    \n               0 |@ 1\n") == "dtrace");
  CHECK(recognised(header) == "dtrace");
  CHECK(recognised("\n" + in + "a`f+0x1\n                4\n") == "dtrace");
  CHECK(recognised("a`b;c 4\n") == "folded");
  CHECK(recognised("main;f 4\n" + in + "a`f+0x1\n                4\n") != "dtrace");
}

TEST_CASE("the public samples as FlameGraph and inferno collapse them") {
  const auto folder = corpus("dtrace");
  if (!folder) return;
  for (const char* name :
       {"example", "hex-addresses", "scope_with_no_argument_list", "stack-ustack"}) {
    CAPTURE(name);
    const std::string text = file_text(*folder / (std::string(name) + ".txt"));
    const Stacks expected = folded(file_text(*folder / (std::string(name) + ".expected.txt")));
    CHECK(recognised(text) == "dtrace");
    const Stacks compat = stacks(read(text, {.compat = true}));
    CHECK(compat == expected);
    for (const auto& [stack, value] : compat) {
      const auto known = expected.find(stack);
      if (known == expected.end() || known->second != value) FAIL_CHECK(stack, " ", value);
    }
    int64_t sum = 0;
    for (const auto& [stack, value] : expected) sum += value;
    const Profile native = read(text);
    CHECK(native.total(0) == sum);
    CHECK(native.losses.lost_events() == 0);
  }
}

TEST_CASE("a heading behind blanks is not a frame") {
  CHECK(of("    " + header + in + "libc`write\n" + in + "app`main\n                5\n") ==
        Stacks{{"main;write", 5}});
}
