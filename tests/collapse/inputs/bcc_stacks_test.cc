// SPDX-License-Identifier: BSD-2-Clause
// Stacks with a number above or below: bcc's tools, SystemTap.
#include <doctest/doctest.h>

#include "tests/collapse/inputs/inputs.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

const std::string header = "Tracing 1 functions for \"c:malloc\"... Hit Ctrl-C to end.\n";

Stacks of(const std::string& text, const ReadOptions& options = {}) {
  return stacks(read_text(text, "", options), "", true);
}

bool noted(const Profile& profile, const std::string& part) {
  for (const std::string& note : profile.meta.notes)
    if (note.find(part) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("stackcount: heading lines are not a stack, and the first stack is not a heading") {
  const Profile p = read_data("bcc-stacks/stackcount.txt");
  CHECK(p.types == std::vector<ValueType>{{"count", Unit::count}});
  CHECK(stacks(p, "", true) ==
        Stacks{{"tar;[unknown];entry_SYSCALL_64_fastpath;ext4_writepages;submit_bio", 5},
               {"my tool;main;fsync;entry_SYSCALL_64_after_hwframe_[k];__x64_sys_fsync_[k];"
                "submit_bio_[k]",
                15},
               {"[no stack]", 3}});
  CHECK(p.losses.lost_events() == 0);
  CHECK(stacks(read_data("bcc-stacks/stackcount.txt", "", {.comm = false, .pid = true}))
            .count("77;main;fsync;entry_SYSCALL_64_after_hwframe;__x64_sys_fsync;submit_bio") == 1);
  CHECK(of(header + "  malloc\n  main\n    12\n\n  malloc\n  main\n    3\n\n") ==
        Stacks{{"main;malloc", 15}});
}

TEST_CASE("stackcount: offsets, addresses, times between intervals") {
  const std::string text = header +
                           "\n12:00:01\n  7f1234567890     malloc+0x12\n"
                           "  55d0c0ffee00     [unknown]\n    1\n\n12:00:02\n  malloc+0x13\n"
                           "  operator new(unsigned long)+0x1\n    2\n";
  CHECK(of(text) == Stacks{{"[unknown];malloc", 1}, {"operator new(unsigned long);malloc", 2}});
  CHECK(
      of(text, {.addresses = true, .offsets = true}) ==
      Stacks{{"55d0c0ffee00;malloc+0x12", 1}, {"operator new(unsigned long)+0x1;malloc+0x13", 2}});
}

TEST_CASE("profile: what kernel code is, what is missing") {
  const Profile p = read_data("bcc-stacks/profile.txt");
  CHECK(p.types[0].name == "samples");
  CHECK(stacks(p, "", true) ==
        Stacks{{"cksum;[Missed User Stack];handle_mm_fault_[k];filemap_map_pages_[k]", 1},
               {"swapper/0;ret_from_fork_[k];finish_task_switch_[k]", 44}});
  CHECK(noted(p, "WARNING: 1 stack traces"));
  CHECK(stacks(read_data("bcc-stacks/profile.txt", "", {.pid = true}))
            .count("swapper/0-0;ret_from_fork;finish_task_switch") == 1);
}

TEST_CASE("mallocstacks: the number is above its stack") {
  const Profile p = read_data("bcc-stacks/mallocstacks.txt");
  CHECK(p.types == std::vector<ValueType>{{"bytes", Unit::bytes}});
  CHECK(stacks(p) == Stacks{{"main;grow", 4096}, {"main;[unknown]", 64}, {"[no stack]", 16}});
  CHECK(p.losses.lost_events() == 0);
}

TEST_CASE(
    "bcc: a run of some seconds, marked kernel functions, names as older Python printed them") {
  const std::string timed =
      "Sampling at 49 Hertz of all threads by user + kernel stack for 5 secs.\n";
  const Profile p = read_text(timed +
                              "\n    b'submit_bio_[k]'\n    entry_[k]\n    b'main'\n"
                              "    -                b'tar' (12)\n        3\n\n");
  CHECK(p.types[0].name == "samples");
  CHECK(stacks(p, "", true) == Stacks{{"tar;main;entry_[k];submit_bio_[k]", 3}});
  CHECK(recognised("Tracing off-CPU time (us) of PID 1 by user stack for 2 secs.\n") ==
        "bcc-stacks");
}

TEST_CASE("bcc: cut off, empty, hostile, recognition") {
  const Profile cut = read_text(header + "  f\n    4\n\n  g\n");
  CHECK(stacks(cut) == Stacks{{"f", 4}});
  CHECK(noted(cut, "the input ends in the middle of a stack: it has no value and is left out"));
  CHECK(error_of(header + "  f\n    4\n\n  g\n", "", {.refuse_truncated = true}) ==
        "text:5: the input ends in the middle of a stack");
  CHECK(error_of(header).find("no stack with a number below it") != std::string::npos);
  CHECK(error_of(header + "  f\n    9223372036854775808\n").find("64 bits") != std::string::npos);
  CHECK(noted(read_text(header + "lost\n  f\n    1\n"), "not a line of a stack"));
  CHECK(recognised(header) == "bcc-stacks");
  CHECK(recognised("tar;main;-;submit_bio 3\n") == "folded");
  CHECK(stacks(read_text("tar;main;-;submit_bio 3\n")) == Stacks{{"tar;main;-;submit_bio", 3}});
}

TEST_CASE("SystemTap: kernel and user stacks") {
  const Profile p = read_data("systemtap/stacks.txt");
  CHECK(stacks(p, "", true) == Stacks{{"do_syscall_64_[k];[unknown]_[k];try_to_wake_up_[k]", 2404},
                                      {"[unknown];std::vector<int>::push_back(int&&)", -12}});
  CHECK(p.losses.lost_events() == 0);
  const std::vector<FrameId> path = p.path(p.touched()[1]);
  CHECK(p.strings[p.frames[path[0]].module] == "/usr/lib/libc-2.31.so");
  CHECK(stacks(read_data("systemtap/stacks.txt", "", {.addresses = true, .offsets = true}))
            .count("0x7f0012;std::vector<int>::push_back(int&&)+0x9/0x10") == 1);
  CHECK(recognised(" 0x400526 : main+0x9/0x10 [/usr/bin/a.out]\n") == "systemtap");
  const Profile odd = read_text("begin\n 0x40 : f+0x1/0x2 [a]\n\t3\n4\n 0x40 : g+0x1/0x2 [a]\n");
  CHECK(stacks(odd) == Stacks{{"f", 3}});
  CHECK(odd.losses[Loss::input_line].events == 3);
  CHECK(noted(odd, "the input ends in the middle of a stack"));
}

TEST_CASE("SystemTap: probes of returns, frames without names, places") {
  const Profile p = read_text(
      "Returning from:  0xffffffff811931d0 : expand_files+0x0/0x220 [kernel]\n"
      "Returning to  :  0xffffffff81193443 : alloc_fd+0x53/0x160 [kernel]\n"
      " 0x7f0012 [/usr/lib/libc.so.6+0x2e81/0x1e7000] (inexact)\n 0x55d0c0\n 0x0\n\t5\n"
      " 0x400526 : std::less<a at b>::f()+0x9/0x10 at /src/a.cc:12 [/usr/bin/a b.out]\n\t7\n"
      " 0x400526 : g+0x9/0x10 at /src/a.cc:13\n\t9\n",
      "", {.lines = true});
  CHECK(stacks(p, "", true) == Stacks{{"[unknown];[unknown];alloc_fd_[k];expand_files_[k]", 5},
                                      {"std::less<a at b>::f()", 7},
                                      {"g", 9}});
  CHECK(p.losses.lost_events() == 0);
  const Frame& nameless = p.frames[p.path(p.touched()[0])[1]];
  CHECK(p.strings[nameless.module] == "/usr/lib/libc.so.6");
  const Frame& placed = p.frames[p.path(p.touched()[1])[0]];
  CHECK(p.strings[placed.module] == "/usr/bin/a b.out");
  CHECK(p.strings[placed.file] == "/src/a.cc");
  CHECK(placed.line == 12);
}
