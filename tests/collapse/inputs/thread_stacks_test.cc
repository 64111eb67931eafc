// SPDX-License-Identifier: BSD-2-Clause
// Texts with one stack per thread: eu-stack, gdb, jstack.
#include <doctest/doctest.h>

#include "tests/collapse/inputs/inputs.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

const std::string futex =
    "_start;__libc_start_main@@GLIBC_2.34;__libc_start_call_main;main;__pthread_clockjoin_ex;"
    "__futex_abstimed_wait_common";
const std::string level = ";(anonymous namespace)::deep::level(int)";
const std::string work = "__clone3;start_thread;work(void*)";

Stacks gdb(const std::string& text, const ReadOptions& options = {}) {
  return stacks(read_text(text, "gdb", options), "", true);
}

bool noted(const Profile& profile, const std::string& part) {
  for (const std::string& note : profile.meta.notes)
    if (note.find(part) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("eu-stack: a stack a thread") {
  const Profile p = read_data("eu-stack/plain.txt");
  CHECK(p.types == std::vector<ValueType>{{"threads", Unit::count}});
  CHECK(stacks(p) == Stacks{{futex, 1},
                            {work + level + level + ";pause", 1},
                            {work + level + level + level + ";pause", 1},
                            {work + level + level + level + level + ";pause", 1}});
  CHECK(p.losses.lost_events() == 0);
  CHECK(stacks(read_data("eu-stack/plain.txt", "", {.pid = true, .tid = true}))
            .count("8776/8776;" + futex) == 1);
  CHECK(stacks(read_data("eu-stack/plain.txt", "", {.tid = true})).count("8776/8776;" + futex) ==
        1);
}

TEST_CASE("eu-stack: modules, source lines, inlined functions") {
  const Profile p = read_data("eu-stack/inlined.txt", "", {.lines = true});
  CHECK(p.total(0) == 4);
  CHECK(p.losses.lost_events() == 0);
  const std::vector<FrameId> path = p.path(p.touched()[0]);
  const Frame leaf = p.frames[path.back()];
  CHECK(p.strings[leaf.function] == "__futex_abstimed_wait_common64");
  CHECK(leaf.kind == FrameKind::inlined);
  CHECK(p.strings[leaf.module] == "/usr/lib/x86_64-linux-gnu/libc.so.6");
  CHECK(p.strings[leaf.file] == "./nptl/futex-internal.c");
  CHECK(leaf.line == 57);
  for (const FrameId id : std::vector(path.begin(), path.end() - 1))
    CHECK(p.frames[id].kind == FrameKind::user);
  // Recursive calls from one place have the same address, but are not inlined.
  for (const FrameId id : p.path(p.touched()[1])) CHECK(p.frames[id].kind == FrameKind::user);
}

TEST_CASE("eu-stack: return addresses, no symbol, odd lines") {
  const std::string text =
      "PID 1 - core\nTID 2:\n#0  0x0000000000000010 - 1 f\n#1  0x0000000000000020\n"
      "#2  0x0000000000000030 - /lib/a b.so\nwhat\n";
  const Profile p = read_text(text);
  CHECK(stacks(p) == Stacks{{"[unknown];[unknown];f", 1}});
  CHECK(p.losses[Loss::input_line].events == 1);
  CHECK(p.strings[p.frames[p.path(p.touched()[0])[0]].module] == "/lib/a b.so");
  CHECK(stacks(read_text(text, "", {.addresses = true})) ==
        Stacks{{"0x0000000000000030;0x0000000000000020;f", 1}});
  CHECK(error_of("", "eu-stack") == "text: no thread like 'TID 8778:' with frames below it in it");
  CHECK(noted(read_text("TID 2:\n#0  0x10 f\n#1  0x2"), "the input ends in the middle"));
  CHECK(recognised("#0  0x10 f\n") != "eu-stack");
}

TEST_CASE("eu-stack: a file without a line, a stack that was told to stop") {
  const Profile p = read_text(
      "TID 2:\n#0  0x10 f\n    /src/a.c\n#1  0x20 main\n    /src/a b.c:7:1\n"
      "eu-stack: tid 2: shown max number of frames (2, use -n 0 for unlimited)\n",
      "", {.lines = true});
  CHECK(stacks(p) == Stacks{{"main;f", 1}});
  CHECK(p.losses.lost_events() == 0);
  CHECK(noted(p, "1 stacks are not whole"));
  const std::vector<FrameId> path = p.path(p.touched()[0]);
  CHECK(p.strings[p.frames[path[0]].file] == "/src/a b.c");
  CHECK(p.frames[path[0]].line == 7);
  CHECK(p.strings[p.frames[path[1]].file] == "/src/a.c");
  CHECK(p.frames[path[1]].line == 0);
}

TEST_CASE("gdb: a stack a thread, with its name") {
  const Profile p = read_data("gdb/threads.txt");
  CHECK(p.total(0) == 5);
  CHECK(p.losses.lost_events() == 0);
  const Stacks got = stacks(p, "", true);
  const std::string deep = ";(anonymous namespace)::deep::level";
  CHECK(got.at("worker x;clone3;start_thread;work" + deep + deep + ";__libc_pause") == 1);
  const std::string main =
      "main;__pthread_clockjoin_ex;__GI___futex_abstimed_wait_cancelable64;"
      "__futex_abstimed_wait_common;__futex_abstimed_wait_common64_[i]";
  CHECK(got.at("thr;" + main) == 1);
  CHECK(got.at(main) == 1);  // "bt" after it, of no thread in particular
  CHECK(
      stacks(read_data("gdb/threads.txt", "", {.tid = true}), "", true).count("thr-8776;" + main) ==
      1);
  const Profile lines = read_data("gdb/threads.txt", "", {.lines = true});
  const Frame leaf = lines.frames[lines.path(lines.touched()[0]).back()];
  CHECK(lines.strings[leaf.file] == "../sysdeps/unix/sysv/linux/pause.c");
  CHECK(leaf.line == 29);
}

TEST_CASE("gdb: names with brackets, arguments with brackets, modules") {
  CHECK(gdb("#0  0x10 in std::function<void (int)>::operator()(int) const () from /lib/a.so\n"
            "#1  0x11 in operator new(unsigned long) () from /lib/b.so\n"
            "#2  0x12 in std::operator<< <char> (s=\"a) at b\\\"(\", n=1) at a.cc:3\n"
            "#3  0x13 in A::operator-> (this=0x1) at a.cc:4\n"
            "#4  0x14 in (anonymous namespace)::f<(E)1> (x=...) at a.cc:5\n"
            "#5  <signal handler called>\n#6  0x16 in ?? ()\n") ==
        Stacks{{"[unknown];<signal handler called>;(anonymous namespace)::f<(E)1>;A::operator->;"
                "std::operator<< <char>;operator new(unsigned long);"
                "std::function<void (int)>::operator()(int) const",
                1}});
  const Profile p = read_text("#0  0x10 in f () from /lib/a b.so\n#1  0x11 in ?? ()\n");
  CHECK(p.strings[p.frames[p.path(p.touched()[0])[1]].module] == "/lib/a b.so");
  CHECK(gdb("#0  0x10 in ?? ()\n", {.addresses = true}) == Stacks{{"0x10", 1}});
  CHECK(gdb("#0  0x10 in call_once<fn() -> i32, ()> () at x.rs:1\n") ==
        Stacks{{"call_once<fn() -> i32, ()>", 1}});
}

TEST_CASE("gdb: characters that are brackets do not hide the file") {
  const Profile p =
      read_text("#0  0x10 in put (c=40 '(', d=39 '\\'') at put.c:7\n", "gdb", {.lines = true});
  const Frame& frame = p.frames[p.path(p.touched()[0])[0]];
  CHECK(p.strings[frame.function] == "put");
  CHECK(p.strings[frame.file] == "put.c");
  CHECK(frame.line == 7);
}

TEST_CASE("gdb: where a core stands is not a stack") {
  const std::string core =
      "[New LWP 7]\nCore was generated by `./crash'.\n"
      "Program terminated with signal SIGSEGV, Segmentation fault.\n"
      "#0  0x10 in f () at crash.c:3\n3\t  *p = 1;\n";
  const std::string stack = "#0  0x10 in f () at crash.c:3\n#1  0x11 in main () at crash.c:9\n";
  for (const std::string& between :
       {std::string(), std::string("[Current thread is 1 (Thread 0x7 (LWP 7))]\n\n"
                                   "Thread 1 (Thread 0x7 (LWP 7)):\n")}) {
    const Profile p = read_text(core + between + stack);
    CHECK(stacks(p) == Stacks{{"main;f", 1}});
    CHECK(p.losses.lost_events() == 0);
  }
  CHECK(gdb(core + "#0  0x10 in f () at crash.c:3\n") == Stacks{{"f", 1}});
  CHECK(gdb(core) == Stacks{{"f", 1}});
}

TEST_CASE("gdb: a frame without its number is not a place, and is counted") {
  const Profile p = read_text(
      "0x10 in f () at a.c:1\n#0  0x10 in f () at a.c:1\n0x11 in g () at a.c:2\n"
      "#2  0x12 in main () at a.c:3\n");
  CHECK(p.losses[Loss::input_line].events == 1);
}

TEST_CASE("gdb: wrapped lines, variables, two stacks, one that stops") {
  CHECK(
      gdb("#0  0x10 in f (a=1, \n    b=2) at f.c:3\n        n = 12\n#1  0x11 in main () at f.c:9\n"
          "No locals.\n#0  0x10 in f (a=1, b=3) at f.c:3\n#1  0x11 in main () at f.c:9\n") ==
      Stacks{{"main;f", 2}});
  const Profile p = read_text(
      "Thread 1 (process 12):\n#0  0x10 in f ()\nBacktrace stopped: frame did not save the PC\n"
      "(gdb) quit\n");
  CHECK(stacks(p) == Stacks{{"f", 1}});
  CHECK(noted(p, "1 stacks are not whole"));
  CHECK(p.losses[Loss::input_line].events == 1);
  CHECK(error_of("x\n", "gdb").find("no frame like '#0  0x00401136 in main () at main.c:5'") !=
        std::string::npos);
  CHECK(recognised("#0  0x10 in f (a=1) at f.c:3\n") == "gdb");
  CHECK(recognised("# a comment (of a script)\na;b 1\n") == "folded");
}

TEST_CASE("jstack") {
  const Profile p = read_data("jstack/dump.txt");
  CHECK(stacks(p) == Stacks{{"Main.main;Main.lambda$main$0;java.lang.Thread.sleep", 1},
                            {"java.lang.Thread.run;Work.<init>", 1}});
  CHECK(p.losses.lost_events() == 0);
  CHECK(stacks(read_data("jstack/dump.txt", "", {.tid = true}))
            .count("main;[TIMED_WAITING (sleeping)];Main.main;Main.lambda$main$0;"
                   "java.lang.Thread.sleep") == 1);
  const Frame leaf = p.frames[p.path(p.touched()[0]).back()];
  CHECK(p.strings[leaf.module] == "java.base@17.0.9");
  CHECK(error_of("Full thread dump x\n").find("no thread like") != std::string::npos);
}
