// SPDX-License-Identifier: BSD-2-Clause
// The reader of `perf script` text. The compatible mode: perf_script_compat_test.cc; weights and
// netting: perf_script_weights_test.cc.
#include <doctest/doctest.h>

#include "collapse/input.h"
#include "tests/collapse/inputs/inputs.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr std::string_view from = "perf-script";

Profile read(const std::string& text, const ReadOptions& options = {}) {
  return read_text(text, from, options);
}

const std::string head = "app 33/34 [000] 100.0: 1 cycles:\n";

// The name of the only frame of a sample.
std::string name_of(const std::string& frame, const ReadOptions& options = {}) {
  const Profile p = read(head + frame + "\n\n", options);
  return std::string(p.strings[p.frames[p.path(p.touched()[0]).back()].function]);
}

Frame frame_of(const std::string& frame, const ReadOptions& options = {}) {
  const Profile p = read(head + frame + "\n\n", options);
  return p.frames[p.path(p.touched()[0]).back()];
}

std::string root_of(const std::string& header, const ReadOptions& options = {}) {
  const Stacks all = stacks(read(header + "\n\t55 f (/bin/a)\n\n", options));
  REQUIRE(all.size() == 1);
  return all.begin()->first.substr(0, all.begin()->first.rfind(';'));
}

}  // namespace

TEST_CASE("stacks from the leaf on, weights by period") {
  const Profile p = read(
      "app 33/33 [000] 100.0:     3 cycles:u: \n\t7f00 memset+0x1 (/lib/libc.so.6)\n"
      "\t55 main+0x2 (/bin/app)\n\n"
      "app 33/33 [000] 100.1:     4 cycles:u: \n\t7f09 memset+0xa (/lib/libc.so.6)\n"
      "\t55 main+0x2 (/bin/app)\n\n");
  CHECK(p.types == std::vector<ValueType>{{"cycles:u", Unit::count}});
  CHECK(stacks(p) == Stacks{{"app;main;memset", 7}});
  CHECK(p.losses.lost_events() == 0);
  CHECK(p.meta.notes.empty());
}

TEST_CASE("first lines of all shapes") {
  CHECK(root_of("java 12688 [002] 6544038.708352: 235 cpu-clock:") == "java");
  CHECK(root_of("java 25607 4794564.109216: 1 cycles: ") == "java");
  CHECK(root_of("java  3244 cpu-clock: ") == "java");
  CHECK(root_of("java 19983 cycles:") == "java");
  CHECK(root_of("V8 WorkerThread 24636/25607 [000] 94564.109216: 100 cycles:") ==
        "V8 WorkerThread");
  CHECK(root_of("Web Content 12 7/8 [000] 1.0: 1 cycles:") == "Web Content 12");
  CHECK(root_of("x 1/1 [000] 1.0: 1 cycles:") == "x");
  CHECK(root_of(":-1 -1/-1 [000] 1.0: 1 cycles:") == ":-1");
  CHECK(root_of("   bash  77 [011] 1.0:  1 cpu/event=0x3c,umask=0x0/uppp: ") == "bash");
  CHECK(root_of("a: b 1/2 [000] 1.0:") == "a: b");
  CHECK(stacks(read("  1/2 [000] 1.0: 5 cycles:\n\t55 f (/bin/a)\n\n")) == Stacks{{"f", 5}});
}

TEST_CASE("process and thread in the root frame") {
  ReadOptions pid, tid, bare;
  pid.pid = tid.pid = tid.tid = true;
  bare.comm = false;
  const std::string both = "a b 12/34 [000] 1.0: 1 cycles:";
  CHECK(root_of(both, pid) == "a b-12");
  CHECK(root_of(both, tid) == "a b-12/34");
  CHECK(root_of("swapper 0/0 [000] 1.0: 1 cycles:", pid) == "swapper-0");
  CHECK(root_of("java 34 cycles:", pid) == "java-?");
  CHECK(root_of("java 34 cycles:", tid) == "java-?/34");
  CHECK(stacks(read(both + "\n\t55 f (/bin/a)\n\n", bare)) == Stacks{{"f", 1}});
  CHECK(stacks(read(both + "\n\n", bare)) == Stacks{{"[no stack]", 1}});
  bare.pid = true;
  CHECK(root_of(both, bare) == "12");
}

TEST_CASE("names are as they are, less offsets and hashes") {
  CHECK(name_of("\t55 main+0x2 (/bin/app)") == "main");
  CHECK(name_of("    55 main (/bin/app)") == "main");
  CHECK(name_of("55 main (/bin/app)") == "main");
  CHECK(name_of("\t55 (anonymous namespace)::f(int)+0x1f (/bin/a)") ==
        "(anonymous namespace)::f(int)");
  CHECK(name_of("\t55 Foo<std::function<void ()> >::bar+0x1 (/bin/a)") ==
        "Foo<std::function<void ()> >::bar");
  CHECK(name_of("\t55 x::{lambda(int)#1}::operator()(int) const+0x1 (/bin/a)") ==
        "x::{lambda(int)#1}::operator()(int) const");
  CHECK(name_of("\t55 it::operator->() const (/bin/a)") == "it::operator->() const");
  CHECK(name_of("\t55 net/http.(*Client).Do+0x3 (/bin/a)") == "net/http.(*Client).Do");
  CHECK(name_of("\t55 core::ptr::drop::h0123456789abcdef+0x3 (/bin/a)") == "core::ptr::drop");
  CHECK(name_of("\t55 a::h0123456789abcdeg (/bin/a)") == "a::h0123456789abcdeg");
  CHECK(name_of("\t55 operator new(unsigned long)+0x3") == "operator new(unsigned long)");
  CHECK(name_of("\t55 Ljava/io/PrintStream;::print (/tmp/perf-1.map)") ==
        "Ljava/io/PrintStream;::print");
  ReadOptions offsets;
  offsets.offsets = true;
  CHECK(name_of("\t55 main+0x2d (/bin/app)", offsets) == "main+0x2d");
}

TEST_CASE("modules tell the kind of a frame") {
  const auto kind = [](const std::string& module) {
    return frame_of("\t55 f+0x1 (" + module + ")").kind;
  };
  for (const char* kernel :
       {"[kernel.kallsyms]", "[guest.kernel.kallsyms]", "[guest.kernel.kallsyms.7]",
        "[nf_conntrack]", "[kernel.vmlinux]", "/lib/modules/4.3.0/build/vmlinux", "vmlinux",
        "/boot/vmlinux-5.4.0-1", "/lib/modules/5.4/kernel/fs/ext4.ko",
        "/lib/modules/5.4/ext4.ko.xz", "bpf_prog_6deef7_f"}) {
    CAPTURE(kernel);
    CHECK(kind(kernel) == FrameKind::kernel);
  }
  for (const char* jit : {"/tmp/perf-1234.map", "/var/jit/x/jitted-12-3.so", "[JIT] tid 7",
                          "[JIT app cache]", "/proc/9/root/tmp/perf-1.map"}) {
    CAPTURE(jit);
    CHECK(kind(jit) == FrameKind::jit);
  }
  for (const char* user : {"/bin/app", "[unknown]", "[vdso]", "[heap]", "[stack]",
                           "/opt/a (x86)/l.so", "/tmp/perf-x.map", "//anon", "/usr/lib/my.kox"}) {
    CAPTURE(user);
    CHECK(kind(user) == FrameKind::user);
  }
  CHECK(frame_of("\t55 f (inlined)").kind == FrameKind::inlined);
  const auto module = [](const std::string& frame) {
    const Profile p = read(head + frame + "\n\n");
    return std::string(p.strings[p.frames[p.path(p.touched()[0]).back()].module]);
  };
  CHECK(module("\t55 f (/tmp/my lib.so (deleted))") == "/tmp/my lib.so");
  CHECK(module("\t55 f(int) (/opt/a (x86)/l.so)") == "/opt/a (x86)/l.so");
  CHECK(name_of("\t55 f(int) (/opt/a (x86)/l.so)") == "f(int)");
}

TEST_CASE("what has no name is called by its module") {
  ReadOptions addresses;
  addresses.addresses = true;
  CHECK(name_of("\t7f12 [unknown] (/lib/libc.so.6)") == "[libc.so.6]");
  CHECK(name_of("\t7f12 [unknown] (/lib/libc.so.6)", addresses) == "[libc.so.6 0x7f12]");
  CHECK(name_of("\t7f12 [unknown] ([unknown])") == "[unknown]");
  CHECK(name_of("\t7f12 [unknown] ([unknown])", addresses) == "[unknown 0x7f12]");
  CHECK(frame_of("\t7f12 [unknown] ([unknown])").kind == FrameKind::unknown);
  CHECK(name_of("\tffff12 [unknown] ([kernel.kallsyms])") == "[kernel.kallsyms]");
  CHECK(frame_of("\tffff12 [unknown] ([kernel.kallsyms])").kind == FrameKind::kernel);
}

TEST_CASE("a perf map may name inlined functions") {
  CHECK(stacks(read(head + "\t55 LA;::a->LB;::b->LC;::c (/tmp/perf-1.map)\n\t56 m (/bin/a)\n\n"),
               "", true) == Stacks{{"app;m;LA;::a_[j];LB;::b_[i];LC;::c_[i]", 1}});
}

TEST_CASE("samples of one line") {
  const Profile p = read(
      "     app 33 [000] 100.0: 1 cycles:u:  ffff12 [unknown] ([unknown])\n"
      "     app 33 [000] 100.0: 1 cycles:u:  55 main+0x2 (/bin/app)\n"
      "     app 33 [000] 100.1: 2 cycles:u:  7ffe12345678     55d012345678 main+0x2 (/bin/app)\n"
      "   other 34 [000] 100.2: 4 cycles:u:  55 main+0x2 (/bin/app)");
  CHECK(stacks(p) == Stacks{{"app;[unknown]", 1}, {"app;main", 3}, {"other;main", 4}});
  CHECK(p.meta.notes.empty());
}

TEST_CASE("the last sample counts without an empty line") {
  const std::string text = head + "\t55 f (/bin/a)\n\n" + head + "\t56 g (/bin/a)\n";
  const Profile p = read(text);
  CHECK(stacks(p) == Stacks{{"app;f", 1}, {"app;g", 1}});
  CHECK(p.meta.notes ==
        std::vector<std::string>{"the last stack has no end: frames may be missing"});
  ReadOptions refuse;
  refuse.refuse_truncated = true;
  CHECK(error_of(text, from, refuse) == "text:5: the last stack has no end");
  CHECK(error_of(text + "\n", from, refuse).empty());
  const std::string cut = head + "\t55 f (/bin/a)\n\napp 33 [000] 10";
  CHECK(error_of(cut, from, refuse) == "text:4: the last stack has no end");
}

TEST_CASE("each event is a column, memory is shown") {
  const Profile p = read(
      "a 1/1 [000] 1.0: 10 cycles:\n\t55 f (/bin/a)\n\n"
      "a 1/1 [000] 1.1: 2 page-faults:u:\n\t55 f (/bin/a)\n\n"
      "a 1/1 [000] 1.2: 250000 task-clock:\n\t56 g (/bin/a)\n\n"
      "a 1/1 [000] 1.3: 30 cycles:\n\t56 g (/bin/a)\n\n");
  CHECK(p.types == std::vector<ValueType>{{"cycles", Unit::count},
                                          {"page-faults:u", Unit::pages},
                                          {"task-clock", Unit::nanoseconds}});
  CHECK(p.shown == 1);
  CHECK(stacks(p) == Stacks{{"a;f", 2}});
  CHECK(stacks(p, "cycles") == Stacks{{"a;f", 10}, {"a;g", 30}});
  CHECK(stacks(p, "task-clock") == Stacks{{"a;g", 250000}});
}

TEST_CASE("source lines below frames") {
  const std::string text =
      head +
      "\t55 f+0x1 (/bin/a)\n  a file.cpp:137\n\t56 g+0x2 (/bin/a)\n  a[27b25]\n"
      "\t57 h (inlined)\n  b.h:3 (discriminator 2)\n\n";
  const Profile plain = read(text);
  CHECK(stacks(plain) == Stacks{{"app;h;g;f", 1}});
  CHECK(plain.losses.lost_events() == 0);
  CHECK(plain.frames[plain.path(plain.touched()[0])[3]].line == 0);
  ReadOptions options;
  options.lines = true;
  const Profile p = read(text, options);
  const std::vector<FrameId> path = p.path(p.touched()[0]);
  CHECK(p.strings[p.frames[path[3]].file] == "a file.cpp");
  CHECK(p.frames[path[3]].line == 137);
  CHECK(p.frames[path[2]].line == 0);
  CHECK(p.strings[p.frames[path[1]].file] == "b.h");
  CHECK(p.frames[path[1]].line == 3);
}

TEST_CASE("samples in the order of time") {
  const auto sample = [](const std::string& function) {
    return "app 1 [000] 1.000000: 10 cycles:u: \n\t55 " + function +
           "+0x1 (/bin/app)\n\t44 main+0x1 (/bin/app)\n\n";
  };
  const std::string text = sample("f") + sample("g") + sample("f") + sample("f");
  const Profile p = read_text(text, "perf-script", {.in_order = true});
  REQUIRE(p.rows() == 3);
  CHECK(p.row(0).stack == p.row(2).stack);
  CHECK(p.row(2).values[0] == 20);
  CHECK(stacks(p) == stacks(read_text(text, "perf-script")));
}
