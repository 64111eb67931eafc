// SPDX-License-Identifier: BSD-2-Clause
// Weights of `perf script` events, allocations minus frees, and damaged input.
#include <doctest/doctest.h>

#include "collapse/input.h"
#include "collapse/text/line_ends.h"
#include "tests/collapse/inputs/inputs.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr std::string_view from = "perf-script";

Profile read(const std::string& text, const ReadOptions& options = {}) {
  return read_text(text, from, options);
}

// One sample of an event with its fields, in one function.
std::string event(const std::string& text, const std::string& function, int pid = 7) {
  return "app " + std::to_string(pid) + "/9 [000] 1.0: " + text + "\n\t55 " + function +
         "+0x1 (/bin/a)\n\n";
}

const std::string kmalloc =
    "kmem:kmalloc: call_site=ffffffff8121 ptr=0xffff8881 bytes_req=100 bytes_alloc=128 "
    "gfp_flags=GFP_KERNEL";

}  // namespace

TEST_CASE("allocations of the kernel weigh their bytes") {
  const std::string text =
      event(kmalloc, "f") +
      event("kmem:kmem_cache_alloc: bytes_alloc=256 ptr=0x2 bytes_req=200", "f") +
      event("kmem:kfree: call_site=ffffffff8121 ptr=0xffff8881", "g");
  const Profile p = read(text);
  CHECK(p.types == std::vector<ValueType>{{"kmem:kmalloc", Unit::bytes},
                                          {"kmem:kmem_cache_alloc", Unit::bytes},
                                          {"kmem:kfree", Unit::count}});
  CHECK(stacks(p) == Stacks{{"app;f", 128}});
  CHECK(stacks(p, "kmem:kmem_cache_alloc") == Stacks{{"app;f", 256}});
  CHECK(stacks(p, "kmem:kfree") == Stacks{{"app;g", 1}});
  ReadOptions requested;
  requested.weight = "bytes_req";
  const Profile q = read(text, requested);
  CHECK(q.types.size() == 2);
  CHECK(stacks(q) == Stacks{{"app;f", 100}});
  CHECK(q.meta.notes == std::vector<std::string>{"1 of 1 samples of kmem:kfree have no number in a "
                                                 "field 'bytes_req' and are left out"});
}

TEST_CASE("pages are two to the power of their order") {
  const Profile p = read(event("kmem:mm_page_alloc: page=0x1 pfn=0x40 order=2 migratetype=0", "f") +
                         event("kmem:mm_page_alloc: order=0 pfn=0x1", "f"));
  CHECK(p.types == std::vector<ValueType>{{"kmem:mm_page_alloc", Unit::pages}});
  CHECK(stacks(p) == Stacks{{"app;f", 5}});
}

TEST_CASE("any field may be the weight") {
  const auto weighed = [](const std::string& text, const std::string& field) {
    ReadOptions options;
    options.weight = field;
    return read(event(text, "f"), options);
  };
  const Profile p = weighed("probe_libc:malloc: (7f12) bytes=0xf0", "bytes");
  CHECK(p.types == std::vector<ValueType>{{"probe_libc:malloc", Unit::bytes}});
  CHECK(stacks(p) == Stacks{{"app;f", 240}});
  CHECK(stacks(weighed("probe_a:m: (7f12) my_bytes=1 bytes=17", "bytes")) == Stacks{{"app;f", 17}});
  CHECK(stacks(weighed("syscalls:sys_enter_mmap: addr: 0x00000000, len: 0x00001000, prot: 0x1",
                       "len")) == Stacks{{"app;f", 4096}});
  CHECK(stacks(weighed("x:y: delta=-5", "delta")) == Stacks{{"app;f", -5}});
  // A sample stands for as many events as its period.
  const Profile scaled = weighed("10 x:y: size=5", "size");
  CHECK(stacks(scaled) == Stacks{{"app;f", 50}});
  CHECK(scaled.meta.notes.size() == 1);
  ReadOptions none;
  none.weight = "size";
  CHECK(error_of(event(kmalloc, "f"), from, none) ==
        "text: no event has a number in a field 'size'; the events are kmem:kmalloc");
}

TEST_CASE("only some events") {
  ReadOptions options;
  options.events = {"cycles", "kmem:kmalloc"};
  const std::string text = event("5 cycles:u:", "f") + event("6 instructions:", "g") +
                           event(kmalloc, "h") + event("7 cycles:u:", "f");
  const Profile p = read(text, options);
  CHECK(p.types.size() == 2);
  CHECK(stacks(p, "cycles:u") == Stacks{{"app;f", 12}});
  CHECK(stacks(p) == Stacks{{"app;h", 128}});
  CHECK(p.frames.size() == 4);  // nothing of what is left out
  options.events = {"faults"};
  CHECK(error_of(text, from, options) ==
        "text: it has none of the events asked for; it has cycles:u, instructions, kmem:kmalloc");
}

TEST_CASE("clocks without periods are counted, not timed") {
  CHECK(read(event("cpu-clock:", "f")).types[0].unit == Unit::count);
  CHECK(read(event("250000 cpu-clock:", "f")).types[0].unit == Unit::nanoseconds);
  CHECK(read(event("page-faults:", "f")).types[0].unit == Unit::pages);
}

TEST_CASE("allocations less frees") {
  ReadOptions net;
  net.net = true;
  const auto alloc = [](const std::string& at, int bytes, const std::string& function) {
    return event("kmem:kmalloc: ptr=" + at + " bytes_req=1 bytes_alloc=" + std::to_string(bytes),
                 function);
  };
  const auto kfree = [](const std::string& at) { return event("kmem:kfree: ptr=" + at, "free"); };
  const Profile p = read(alloc("0xa", 64, "f") + alloc("0xb", 32, "f") + alloc("0xc", 16, "g") +
                             kfree("0xb") + kfree("0xd") + kfree("0x0") + alloc("0xc", 8, "h") +
                             event("kmem:kmem_cache_free: ptr=0xa name=x", "free"),
                         net);
  CHECK(p.types == std::vector<ValueType>{{"kmem:kmalloc", Unit::bytes}});
  CHECK(stacks(p) == Stacks{{"app;h", 8}});
  CHECK(p.losses[Loss::free_miss].events == 1);
  CHECK(p.losses[Loss::free_miss].bytes == 0);
  CHECK(p.losses.lost_events() == 0);
  CHECK(p.meta.notes.size() == 2);
  CHECK(error_of(event("1 cycles:", "f"), from, net) ==
        "text: no event tells a block that was allocated or freed (ptr=, pfn=); it has cycles");
  // Nothing is left.
  CHECK(stacks(read(alloc("0xa", 64, "f") + kfree("0xa"), net)).empty());
  // A free needs no figure of its own.
  net.weight = "bytes_req";
  const Profile requested = read(alloc("0xa", 64, "f") + alloc("0xb", 64, "f") + kfree("0xa"), net);
  CHECK(stacks(requested) == Stacks{{"app;f", 1}});
  CHECK(requested.meta.notes == std::vector<std::string>{"allocations less what was freed later"});
}

TEST_CASE("pages less what was freed of them") {
  ReadOptions net;
  net.net = true;
  const auto pages = [](const std::string& what, int pfn, int order) {
    return event("kmem:mm_page_" + what + ": page=0x1 pfn=" + std::to_string(pfn) +
                     " order=" + std::to_string(order),
                 "f");
  };
  const Profile p = read(pages("alloc", 64, 3) + pages("alloc", 80, 0) + pages("free", 64, 0) +
                             pages("free", 65, 0) + pages("free", 90, 1) +
                             event("kmem:mm_page_free_batched: page=0x1 pfn=66 order=0", "f"),
                         net);
  CHECK(p.types == std::vector<ValueType>{{"kmem:mm_page_alloc", Unit::pages}});
  CHECK(p.total(0) == 6);
  CHECK(p.losses[Loss::free_miss].events == 1);
  CHECK(p.losses[Loss::free_miss].bytes == 8192);
}

TEST_CASE("blocks of different processes are different") {
  ReadOptions net;
  net.net = true;
  net.weight = "bytes";
  const Profile p = read(event("probe_x:my_alloc: ptr=0xa bytes=5", "f", 1) +
                             event("probe_x:my_alloc: ptr=0xa bytes=6", "g", 2) +
                             event("probe_x:my_free: ptr=0xa", "h", 1),
                         net);
  CHECK(stacks(p) == Stacks{{"app;g", 6}});
}

TEST_CASE("numbers stay within 64 bits") {
  CHECK(error_of(event("9223372036854775808 cycles:", "f"), from) ==
        "text:1: a period leaves the range of 64 bits: 9223372036854775808");
  CHECK(error_of(event("9223372036854775807 cycles:", "f") + event("1 cycles:", "f"), from)
            .starts_with("text:6: a sum of values leaves the range of 64 bits"));
  ReadOptions size;
  size.weight = "size";
  CHECK(error_of(event("2 x:y: size=0x7fffffffffffffff", "f"), from, size) ==
        "text:1: the field size times the period leaves the range of 64 bits");
}

TEST_CASE("what is not understood is counted") {
  const Profile p =
      read(event("cycles:", "f") + "no sample\n" + "app 1/1 [000] 1.0: PERF_RECORD_LOST lost 5\n" +
           "app 1 [000] 1.0: 1 cycles:\n\t55 f (/bin/a)\nnonsense\n\n");
  CHECK(stacks(p, "cycles") == Stacks{{"app;f", 2}});
  CHECK(p.losses[Loss::input_line].events == 2);
  CHECK(p.losses[Loss::ring_full].events == 5);
  CHECK(p.meta.notes ==
        std::vector<std::string>{
            "1 line not understood (not the first line of a sample): line 4: 'no sample'",
            "1 line not understood (neither a frame nor the first line of a sample): line 8: "
            "'nonsense'"});
  CHECK(error_of("", from) == "text: there is no sample of perf script in it");
  CHECK(error_of("\n\nx y\n", from)
            .starts_with("text: there is no sample of perf script in it; 1 line not understood"));
}

TEST_CASE("threads find the same, and the same lines") {
  std::string text = "# cmdline : perf record -g x\n";
  for (int i = 0; i < 40000; ++i) {
    text += event(std::to_string(i % 7 + 1) + (i % 3 == 0 ? " cycles:" : " page-faults:"),
                  "f" + std::to_string(i % 101) + "\n\t56 g" + std::to_string(i % 13), i % 5);
    if (i == 39000) text += "damaged\n\n";
  }
  REQUIRE(text.size() > size_t{2} << 20U);
  ReadOptions three;
  three.threads = 3;
  three.pid = true;
  ReadOptions one = three;
  one.threads = 1;
  const Profile p = read(text, one), q = read(text, three);
  CHECK(p.types == q.types);
  CHECK(p.shown == q.shown);
  CHECK(stacks(p, "cycles") == stacks(q, "cycles"));
  CHECK(stacks(p) == stacks(q));
  CHECK(p.meta.notes == q.meta.notes);
  CHECK(p.meta.notes.back() ==
        "1 line not understood (not the first line of a sample): line 156006: 'damaged'");
  CHECK(q.meta.command == "perf record -g x");
  text += event("99999999999999999999 cycles:", "f") + event("99999999999999999999 cycles:", "f");
  CHECK(error_of(text, from, three) == error_of(text, from, one));
}

TEST_CASE("ends of lines, wherever they are") {
  for (size_t size = 0; size < 200; ++size) {
    for (const size_t every : {1UL, 2UL, 63UL, 64UL, 65UL, 300UL}) {
      std::string text(size, 'x');
      for (size_t i = every - 1; i < size; i += every) text[i] = '\n';
      LineEnds ends(text);
      const char* at = text.data();
      const char* const end = at + size;
      size_t lines = 0;
      while (at != end) {
        const char* const feed = ends.next(at);
        const size_t expected = std::min((lines + 1) * every - 1, size);
        REQUIRE(static_cast<size_t>(feed - text.data()) == expected);
        at = feed + (feed != end ? 1 : 0);
        ++lines;
      }
      CHECK(lines == (size + every - 1) / every);
    }
  }
}

TEST_CASE("long lines, deep stacks, and many lines without an empty one") {
  const std::string name(3 << 20, 'x');
  CHECK(stacks(read(event("1 cycles:", name))) == Stacks{{"app;" + name, 1}});
  std::string deep = "app 1 [000] 1.0: 1 cycles:\n";
  for (int i = 0; i < 200000; ++i) deep += "\t55 f (/bin/a)\n";
  const Profile p = read(deep);
  CHECK(p.path(p.touched()[0]).size() == 200001);
  std::string single;
  for (int i = 0; i < 30000; ++i) single += "    app 1 [000] 1.0: 1 cycles: 55a0 f+0x1 (/bin/a)\n";
  ReadOptions two;
  two.threads = 2;
  CHECK(stacks(read(single, two)) == Stacks{{"app;f", 30000}});
  CHECK(error_of(std::string(1 << 20, '1'), from).starts_with("text: there is no sample"));
}

TEST_CASE("it is recognised, other texts are not") {
  CHECK(recognised(event("1 cycles:", "f")) == from);
  CHECK(recognised("# ========\n# captured on: x\n#\njava 3 cycles:\n\t55 f (/x)\n") == from);
  CHECK(recognised("app 3 [000] 1.0: kmem:kfree: ptr=0x1\n") == from);
  CHECK(recognised("main;worker 12 345\n") == "folded");
  CHECK(recognised("main 12 345: 3\n") != from);
  CHECK(recognised("TID 1234 x:\n#0 0x55 f\n") != from);
  CHECK(recognised("app 12 34\nmain+0x1 5\n") != from);
}

TEST_CASE("public samples") {
  const auto folder = corpus("perf-script");
  if (!folder) return;
  const auto file = [&](const char* name) { return file_text(*folder / name); };
  const Profile two = read_text(file("perf-cycles-instructions-01.txt"));
  CHECK(two.types.size() == 2);
  CHECK(two.total(column(two, "instructions")) == 333);
  CHECK(two.total(column(two, "cycles")) == 111);
  const Profile faults = read_text(file("perf-java-faults-01.txt"));
  CHECK(faults.types == std::vector<ValueType>{{"page-faults", Unit::pages}});
  for (const char* name :
       {"perf-funcab-pid-01.txt", "perf-iperf-stacks-pidtid-01.txt", "perf-java-stacks-01.txt",
        "perf-java-stacks-02.txt", "perf-vertx-stacks-01.txt", "perf-java-faults-01.txt"}) {
    CAPTURE(name);
    CHECK(recognised(file(name)) == from);
    CHECK(read_text(file(name)).losses.lost_events() == 0);
  }
}
