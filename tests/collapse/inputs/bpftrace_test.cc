// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include "tests/collapse/inputs/inputs.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

Profile read(const std::string& text, const ReadOptions& options = {}) {
  return read_text(text, "bpftrace", options);
}

Stacks of(const std::string& text, const ReadOptions& options = {}) {
  return stacks(read(text, options), "", true);
}

bool noted(const Profile& profile, const std::string& part) {
  for (const std::string& note : profile.meta.notes)
    if (note.find(part) != std::string::npos) return true;
  return false;
}

Frame leaf(const Profile& p) { return p.frames[p.path(p.touched()[0]).back()]; }

}  // namespace

TEST_CASE("stacks of an unnamed map; offsets are decimal") {
  const std::string text =
      "Attaching 1 probe...\n\n\n@[\n    malloc+0\n    main+45\n]: 3\n"
      "@[\n    malloc+0\n    main+99\n]: 4\n";
  const Profile p = read(text);
  CHECK(stacks(p) == Stacks{{"main;malloc", 7}});
  CHECK(p.types == std::vector<ValueType>{{"count", Unit::count}});
  for (const std::string& note : p.meta.notes) FAIL_CHECK(note);
  CHECK(p.losses.lost_events() == 0);
  CHECK(of(text, {.offsets = true}) == Stacks{{"main+45;malloc+0", 3}, {"main+99;malloc+0", 4}});
}

TEST_CASE("every map is a column with its name; one in bytes is shown") {
  const Profile p = read(
      "@calls[\n    malloc+0\n    main+45\n]: 3\n\n"
      "@bytes[\n    malloc+0\n    main+45\n]: 4096\n@bytes[\n    calloc+0\n    main+5\n]: 8\n"
      "@[\n    free+0\n    main+5\n]: 9\n");
  CHECK(p.types == std::vector<ValueType>{
                       {"calls", Unit::count}, {"bytes", Unit::bytes}, {"count", Unit::count}});
  CHECK(p.types[p.shown].name == "bytes");
  CHECK(stacks(p, "calls") == Stacks{{"main;malloc", 3}});
  CHECK(stacks(p, "bytes") == Stacks{{"main;malloc", 4096}, {"main;calloc", 8}});
  CHECK(stacks(p, "count") == Stacks{{"main;free", 9}});
}

TEST_CASE("keys are root frames; the kernel's stack is on top of the user's, wherever it is") {
  const std::string kernel = "    do_anonymous_page+8\n    asm_exc_page_fault+34\n";
  const std::string user = "    memset+1\n    main+45\n";
  const Stacks expected{{"bash;main;memset;asm_exc_page_fault_[k];do_anonymous_page_[k]", 2}};
  CHECK(of("@[\n" + kernel + ", \n" + user + ", bash]: 2\n") == expected);
  CHECK(of("@[\n" + user + ", \n" + kernel + ", bash]: 2\n") == expected);
  CHECK(of("@[bash, \n" + user + ", \n" + kernel + "]: 2\n") == expected);
  CHECK(of("@[\n" + user + ", bash, \n" + kernel + "]: 2\n") == expected);
  CHECK(of("@[bash,\n" + user + ",\n" + kernel + "]: 2\n") == expected);  // blanks lost
  CHECK(of("@[12, \n" + user + ", a b, 7]: 2\n") == Stacks{{"12;a b;7;main;memset", 2}});
  // One of the two stacks is empty.
  CHECK(of("@[, \n" + user + ", bash]: 2\n") == Stacks{{"bash;main;memset", 2}});
  CHECK(of("@[\n" + kernel + ", ]: 2\n") ==
        Stacks{{"asm_exc_page_fault_[k];do_anonymous_page_[k]", 2}});
  // Ambiguous: the first is taken for the kernel's, unless another entry shows otherwise.
  CHECK(of("@[\n    a+1\n, \n    b+1\n]: 2\n") == Stacks{{"b;a_[k]", 2}});
  CHECK(of("@[\n" + user + ", \n" + kernel + "]: 1\n@[\n    a+1\n, \n    b+1\n]: 2\n")
            .at("a;b_[k]") == 2);
}

TEST_CASE("no stack and no key are told from each other; scalars are notes") {
  CHECK(of("@[]: 3\n@[\n    f+1\n]: 4\n@[, bash]: 5\n") ==
        Stacks{{"[no stack]", 3}, {"f", 4}, {"bash;[no stack]", 5}});
  CHECK(of("@[bash]: 3\n@[a, b]: 4\n") == Stacks{{"bash", 3}, {"a;b", 4}});
  const Profile p = read("@total: 12\n@start[12]: 99\n@bytes[\n    f+1\n]: 12\n");
  CHECK(p.types.size() == 1);
  CHECK(stacks(p) == Stacks{{"f", 12}});
  CHECK(noted(p, "@total: 12"));
  CHECK(noted(p, "1 entries of maps without stacks are left out"));
  CHECK(error_of("@: 5\n", "bpftrace") == "text:1: no map entry like '@[…]: 4096' in it");
}

TEST_CASE("values: negative sums, tuples, statistics, histograms") {
  CHECK(of("@[\n    f+1\n]: -4096\n@[\n    g+1\n]: 10\n") == Stacks{{"f", -4096}, {"g", 10}});
  const Profile old = read("@neg[\n    f+1\n]: 18446744073709547520\n");
  CHECK(stacks(old) == Stacks{{"f", -4096}});
  CHECK(noted(old, "1 numbers beyond 2^63 are taken as negative"));
  CHECK(error_of("@[\n    f+1\n]: 18446744073709551616\n", "bpftrace") ==
        "text:3: the number 18446744073709551616 leaves the range of 64 bits");
  const Profile tuple = read("@x[\n    f+1\n]: (10, 4096)\n");
  CHECK(stacks(tuple, "x.0") == Stacks{{"f", 10}});
  CHECK(stacks(tuple, "x.1") == Stacks{{"f", 4096}});
  const Profile stats = read("@bytes[\n    f+1\n]: count 3, average 10, total 30\n");
  CHECK(stacks(stats, "bytes.count") == Stacks{{"f", 3}});
  CHECK(stacks(stats, "bytes.total") == Stacks{{"f", 30}});
  CHECK(stats.types[stats.shown].name == "bytes.total");
  const Profile hist = read(
      "@h[\n    f+1\n]: \n[8, 16)               50 |@@@@|\n[4K, 8K)               2 |    |\n\n"
      "@h[\n    g+1\n]: \n(..., 0)              1 |@@@@|\n\nprinted\n");
  CHECK(stacks(hist) == Stacks{{"f", 52}, {"g", 1}});
  CHECK(noted(hist, "1 line not understood (not a map): line 12: 'printed'"));
  CHECK(noted(read("@x[\n    f+1\n]: text\n@[a]: 1\n"), "the value of a map is not a number"));
}

TEST_CASE("modes of stacks") {
  const Profile perf = read(
      "@[\n\t7f1234 malloc+16 (/usr/lib/libc.so.6)\n\t7f1235 0x7f1235 ([unknown])\n"
      "\t55aa inner (inlined)\n\t55aa std::f(int, (anonymous namespace)::T)+12 (/bin/a b)\n]: 1\n");
  CHECK(stacks(perf, "", true) ==
        Stacks{{"std::f(int, (anonymous namespace)::T);inner_[i];0x7f1235;malloc", 1}});
  CHECK(perf.strings[leaf(perf).module] == "/usr/lib/libc.so.6");
  CHECK(of("@[\n\tffffffff81234567 vfs_read+1\n\tffffffff81234568 ksys+2\n]: 1\n") ==
        Stacks{{"ksys_[k];vfs_read_[k]", 1}});
  CHECK(of("@[\n7f12345678\nffffffff81234567\n]: 1\n") ==
        Stacks{{"ffffffff81234567_[k];7f12345678_[k]", 1}});
  const std::string id(40, 'a');
  CHECK(of("@[\n\t" + id + " 0x1234\n]: 1\n") == Stacks{{id + " 0x1234", 1}});
  const std::string lines =
      "@[\n    [inlined] in<int>@/src/a.h:3\n    main+45@/src/a.c:12\n    memcpy@GLIBC_2.14+3\n]: "
      "1\n";
  CHECK(of(lines) == Stacks{{"memcpy@GLIBC_2.14;main;in<int>_[i]", 1}});
  const Profile placed = read(lines, {.lines = true});
  CHECK(placed.strings[leaf(placed).file] == "/src/a.h");
  CHECK(leaf(placed).line == 3);
  CHECK(of("@[\n    f+1\n    <unwind failure>\n]: 1\n") == Stacks{{"<unwind failure>;f", 1}});
  CHECK(of("@[\n    a::operator+(int)+3\n    operator++\n]: 1\n") ==
        Stacks{{"operator++;a::operator+(int)", 1}});
}

TEST_CASE("other printed lines are counted, repeated prints are told") {
  const Profile p =
      read("Attaching 2 probes...\nhello\n12 13\n^C\n\n^C@[\n    f+1\n]: 1\n\n@[\n    f+1\n]: 2\n");
  CHECK(stacks(p) == Stacks{{"f", 3}});
  CHECK(p.losses[Loss::input_line].events == 2);
  CHECK(noted(p, "2 lines not understood (not a map), the first is line 2: 'hello'"));
  CHECK(noted(p, "1 entries were printed more than once and are added up"));
}

TEST_CASE("an input that ends in the middle of a stack") {
  const std::string cut = "@[\n    f+1\n]: 4\n@[\n    g+1\n";
  const Profile p = read(cut);
  CHECK(stacks(p) == Stacks{{"f", 4}});
  CHECK(noted(p, "the input ends in the middle of a stack: it has no value and is left out"));
  CHECK(p.losses[Loss::input_line].events == 1);
  CHECK(error_of(cut, "bpftrace", {.refuse_truncated = true}) ==
        "text:5: the input ends in the middle of a stack");
  CHECK(noted(read("@[\n    f+1\n]: 4"), "the last number may be cut off"));
  CHECK(stacks(read("@[\n    f+1\n@[\n    g+1\n]: 4\n")) == Stacks{{"g", 4}});
}

TEST_CASE("recognition, and what is nothing") {
  CHECK(recognised("Attaching 1 probe...\n\n@: 5\n") == "bpftrace");
  CHECK(recognised("\n\n@bytes[\n    f+1\n") == "bpftrace");
  CHECK(recognised("@[bash, \n    f+1\n") == "bpftrace");
  CHECK(recognised("@[bash]: 12\n") == "bpftrace");
  CHECK(recognised("@ 0x1 0x2\n") != "bpftrace");
  CHECK(recognised("main;f@[x] 5\n") == "folded");
  CHECK(error_of("", "bpftrace") == "text: no map entry like '@[…]: 4096' in it");
  CHECK(error_of("x\n", "bpftrace").find("1 line not understood") != std::string::npos);
}

TEST_CASE("JSON output: the same maps") {
  const auto json = [](const std::string& text) { return read_text(text); };
  const Profile p = json(
      "{\"type\": \"attached_probes\", \"data\": {\"probes\": 1}}\n\n"
      "{\"type\": \"map\", \"data\": {\"@bytes\": {\",\\n    malloc+0\\n    main+4\\n,a\": 50, "
      "\",\\n    malloc+0\\n    main+4\\n,a\": 7, \"\\n    do_sys+1\\n    do_syscall_64+1\\n,\\n   "
      " "
      "main+4\\n,b, c\": -1}}}\n"
      "{\"type\": \"printf\", \"data\": \"hello\\n\"}\n"
      "{\"type\": \"map\", \"data\": {\"@tot\": 6500}}\n{\"type\": \"map\", \"data\": {\"@k\": "
      "{\"1\": 5}}}\n");
  CHECK(stacks(p, "", true) ==
        Stacks{{"a;main;malloc", 57}, {"b; c;main;do_syscall_64_[k];do_sys_[k]", -1}});
  CHECK(p.types == std::vector<ValueType>{{"bytes", Unit::bytes}});
  CHECK(noted(p, "@tot: 6500"));
  CHECK(noted(p, "printed by the script"));
  CHECK(noted(p, "1 entries of maps without stacks"));
  const std::string stats = "{\"type\": \"stats\", \"data\": {\"@s\": {\"\\n    f+1\\n\": ";
  const Profile s = json(stats + "{\"count\": 5, \"average\": 10, \"total\": 50}}}}\n");
  CHECK(stacks(s, "s.count") == Stacks{{"f", 5}});
  CHECK(stacks(s, "s.total") == Stacks{{"f", 50}});
  CHECK(stacks(json(stats + "[{\"min\": 8, \"max\": 15, \"count\": 3}, {\"count\": 4}]}}}\n")) ==
        Stacks{{"f", 7}});
  CHECK(stacks(json(stats + "[1, 20]}}}\n"), "s.1") == Stacks{{"f", 20}});
  CHECK(error_of(stats + "1e30}}}\n").find("leaves the range of 64 bits") != std::string::npos);
  CHECK(error_of(stats + "\"x\"}}}\n").find("the value of a map is not a number") !=
        std::string::npos);
  const Profile cut = json(stats + "5}}}\n" + stats + "5, \"g\": ");
  CHECK(stacks(cut) == Stacks{{"f", 10}});
  CHECK(noted(cut, "the input ends in the middle of a stack"));
}

TEST_CASE("JSON output: names may hold any bytes") {
  // A comm holds any bytes that a program chose, and bpftrace prints them unchanged.
  const std::string line =
      "{\"type\": \"map\", \"data\": {\"@bytes\": {\"\\n    f+1\\n,a\xff\": 5, "
      "\"\\n    f+1\\n,\\ud800b\": 7, \"\\n    f+1\\n,c\": 9}}}\n";
  const Profile p = read_text(line);
  CHECK(p.total(0) == 21);
  CHECK(stacks(p) == Stacks{{"a\xff;f", 5},
                            {"c;f", 9},
                            {"\xef\xbf\xbd"
                             "b;f",
                             7}});
  CHECK(p.losses.lost_events() == 0);
}

TEST_CASE("what bpftrace 0.17 prints for one script as text and as JSON") {
  // 150 calls of malloc of 6500 bytes, weighed in a dozen ways.
  for (const char* file : {"bpftrace/modes-0.17.txt", "bpftrace-json/modes-0.17.json"}) {
    CAPTURE(file);
    const Profile p = read_data(file);
    const auto total = [&](const char* name) { return p.total(column(p, name)); };
    CHECK(total("count") == 150);
    CHECK(total("bytes") == 6500);
    CHECK(total("neg") == -6500);
    CHECK(total("h") == 150);
    CHECK(total("l") == 150);
    CHECK(total("raw") == 150);
    CHECK(total("s.count") == 150);
    CHECK(total("s.total") == 6500);
    CHECK(p.types[p.shown].name == "bytes");
    CHECK(noted(p, "@tot: 6500"));
    CHECK(p.losses.lost_events() == 0);
  }
}
