// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include "tests/collapse/inputs/inputs.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr const char* heading = "[11:16:33] Top 10 stacks with outstanding allocations:\n";

Profile read(const std::string& text, const ReadOptions& options = {}) {
  return read_text(text, "memleak", options);
}

using Notes = std::vector<std::string>;

}  // namespace

TEST_CASE("the Python tool: each list is the whole, the last one counts") {
  const Profile p = read_data("memleak/python.txt");
  CHECK(p.types == std::vector<ValueType>{{"live", Unit::bytes}, {"blocks", Unit::count}});
  CHECK(stacks(p) == Stacks{{"__libc_start_main;main", 96}, {"[unknown];grow", 8192}});
  CHECK(stacks(p, "blocks") == Stacks{{"__libc_start_main;main", 6}, {"[unknown];grow", 2}});
  CHECK(p.meta.notes == Notes{"snapshot 2 of 2, at 11:16:38",
                              "only the top 2 stacks were printed: see memleak -T"});
  CHECK(p.losses.lost_events() == 0);
  const Frame root = p.frames[p.path(p.touched()[0])[0]];
  CHECK(p.strings[root.module] == "libc-2.21.so");
}

TEST_CASE("another list, and what one has more than another") {
  ReadOptions options;
  options.snapshot = {WhichSnapshot::Kind::number, 1, 0};
  const Profile first = read_data("memleak/python.txt", "", options);
  CHECK(stacks(first) == Stacks{{"__libc_start_main;main", 80}, {"[unknown];grow", 4096}});
  CHECK(first.meta.notes[0] == "snapshot 1 of 2, at 11:16:33");
  options.snapshot = {WhichSnapshot::Kind::difference, 1, 2};
  const Profile grown = read_data("memleak/python.txt", "", options);
  CHECK(stacks(grown) == Stacks{{"__libc_start_main;main", 16}, {"[unknown];grow", 4096}});
  CHECK(stacks(grown, "blocks") == Stacks{{"__libc_start_main;main", 1}, {"[unknown];grow", 1}});
  CHECK(grown.meta.notes[0] == "snapshot 2 minus snapshot 1 of 2");
  options.snapshot = {WhichSnapshot::Kind::difference, 2, 1};
  CHECK(read_data("memleak/python.txt", "", options).total(0) == -4112);
  options.snapshot = {WhichSnapshot::Kind::number, 3, 0};
  CHECK(
      error_of(file_text(std::string(TEST_DATA) + "/inputs/memleak/python.txt"), "memleak", options)
          .find("it has no snapshot 3: there are 1 to 2") != std::string::npos);
}

TEST_CASE("the tool of libbpf-tools: numbered frames, source lines, inlined functions") {
  const Profile p = read_data("memleak/libbpf.txt");
  CHECK(stacks(p, "", true) ==
        Stacks{{"main;run_[i];[unknown];work;inner_[i];innermost_[i];operator new[](unsigned long)",
                4096},
               {"[unknown]_[k];__kmalloc_[k]", 80},
               {"[no stack]", 16}});
  CHECK(p.total(column(p, "blocks")) == 7);
  CHECK(p.meta.notes[0] == "snapshot 1 of 1, at 11:16:33");
  const Profile lines = read_data("memleak/libbpf.txt", "", {.addresses = true, .lines = true});
  CHECK(
      stacks(lines).count("main;run;000055d0c0ffee20;work;inner;innermost;operator new[](unsigned "
                          "long)") == 1);
  const Frame work = lines.frames[lines.path(lines.touched()[0])[3]];
  CHECK(lines.strings[work.file] == "/src/work.c");
  CHECK(work.line == 33);
}

TEST_CASE("names, offsets, addresses, kernel code") {
  const std::string text = std::string(heading) +
                           "\t8 bytes in 1 allocations from stack\n"
                           "\t\t0xffffffff81234567\tkmalloc+0x1 [kernel]\n"
                           "\t\t0x00007f0000000010\t[unknown] [libx.so]\n"
                           "\t\ta::operator+(int)+0x3 [a b.so]\n";
  CHECK(stacks(read(text), "", true) == Stacks{{"a::operator+(int);[unknown];kmalloc_[k]", 8}});
  CHECK(stacks(read(text, {.addresses = true, .offsets = true})) ==
        Stacks{{"a::operator+(int)+0x3;0x00007f0000000010;kmalloc+0x1", 8}});
  const Profile lost = read(std::string(heading) +
                            "\t8 bytes in 1 allocations from stack\n\t\tstack information lost\n"
                            "\t9 bytes in 1 allocations from stack\n\t\t\n");
  CHECK(stacks(lost) == Stacks{{"stack information lost", 8}, {"[no stack]", 9}});
}

TEST_CASE("equal stacks add up, an empty list is one") {
  const std::string one = "\t8 bytes in 1 allocations from stack\n\t\tf+0x1 [a]\n";
  CHECK(stacks(read(heading + one + "\t7 bytes in 2 allocations from stack\n\t\tf+0x9 [a]\n")) ==
        Stacks{{"f", 15}});
  CHECK(read(heading + one + heading).touched().empty());
  CHECK(read(heading).meta.notes == Notes{"snapshot 1 of 1, at 11:16:33"});
}

TEST_CASE("damaged and hostile texts") {
  const std::string one = "\t8 bytes in 1 allocations from stack\n\t\tf+0x1 [a]\n";
  const Profile odd = read(heading + one + "(trace) 12\n");
  CHECK(stacks(odd) == Stacks{{"f", 8}});
  CHECK(odd.losses[Loss::input_line].events == 1);
  CHECK(error_of("", "memleak") ==
        "text: no line like '[12:00:00] Top 10 stacks with outstanding allocations:'");
  CHECK(error_of(std::string(heading) + "\t9223372036854775808 bytes in 1 allocations from stack\n",
                 "memleak")
            .starts_with("text:2: the number 9223372036854775808 leaves"));
  ReadOptions minus;
  minus.snapshot = {WhichSnapshot::Kind::difference, 1, 2};
  const std::string least = "\t-9223372036854775808 bytes in 1 allocations from stack\n\t\tf [a]\n";
  CHECK(read(heading + least + heading + one, minus).losses[Loss::input_line].events != 0);
  const std::string cut = heading + one.substr(0, one.size() - 3);
  CHECK(read(cut).meta.notes[0].starts_with("the input ends in the middle of a stack"));
  CHECK(error_of(cut, "memleak", {.refuse_truncated = true}) ==
        "text:3: the input ends in the middle of a stack");
}

TEST_CASE("recognition") {
  CHECK(recognised(heading) == "memleak");
  CHECK(recognised("Attaching to pid 1, Ctrl+C to quit.\n" + std::string(heading)) == "memleak");
  CHECK(recognised("Top 10 stacks with outstanding allocations:\n") != "memleak");
}

TEST_CASE("blanks for tabs, as mails and web pages show them") {
  for (const char* name : {"memleak/python.txt", "memleak/libbpf.txt"}) {
    const std::string text = file_text(std::string(TEST_DATA) + "/inputs/" + name);
    for (const size_t width : {size_t{2}, size_t{4}, size_t{8}}) {
      std::string blanks;
      for (const char c : text) blanks += c == '\t' ? std::string(width, ' ') : std::string(1, c);
      const Profile p = read(blanks);
      CHECK(stacks(p, "", true) == stacks(read(text), "", true));
      CHECK(p.losses.lost_events() == 0);
    }
  }
}
