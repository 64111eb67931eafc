// SPDX-License-Identifier: BSD-2-Clause
// Small inputs with a huge meaning: they refer to one part from everywhere. Before there were
// limits, each of these took minutes or gigabytes, or overflowed 64 bits.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <protozero/pbf_writer.hpp>

#include "tests/collapse/inputs/inputs.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr size_t many = 100'000;
const std::string long_name(1'000'000, 'x');

std::string times(size_t count, const std::string& text) {
  std::string all;
  for (size_t i = 0; i < count; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("pprof: one long text as a hundred thousand comments is a note") {
  std::string bytes;
  protozero::pbf_writer profile(bytes);
  {
    protozero::pbf_writer type(profile, 1);
    type.add_int64(1, 1);
    type.add_int64(2, 1);
  }
  {
    protozero::pbf_writer sample(profile, 2);
    sample.add_int64(2, 7);
  }
  profile.add_string(6, "");
  profile.add_string(6, long_name);
  const std::vector<int64_t> comments(many, 1);
  profile.add_packed_int64(13, comments.begin(), comments.end());
  const Profile p = read_text(bytes, "pprof");
  CHECK(std::count(p.meta.notes.begin(), p.meta.notes.end(), long_name) == 1);
  CHECK(p.total(0) == 7);
  CHECK(p.types[0].name.size() < 1000);
}

TEST_CASE("xctrace: frames, files and weights that all refer to a long one") {
  const std::string first = "<row><weight id='1'>" + std::string(1'000'000, ' ') +
                            "5</weight><backtrace><frame id='2' name='" + long_name +
                            "'><binary id='3' name='" + long_name +
                            "'/><source id='4' line='1'><path id='5'>" + times(many, "<x/>") +
                            "/f.c</path></source></frame></backtrace></row>";
  const std::string other =
      "<row><weight ref='1'/><backtrace><frame ref='2'/><frame name='g'><binary ref='3'/>"
      "<source ref='4'/></frame></backtrace></row>";
  const Profile p =
      read_text("<trace-query-result>" + first + times(many / 2, other) + "</trace-query-result>",
                "xctrace", {.lines = true});
  CHECK(p.total(0) == 1 + many / 2);
  CHECK(p.total(1) == 5 * (1 + many / 2));
}

TEST_CASE("xctrace: what a tagged backtrace holds is looked for once") {
  const std::string first = "<row><tagged-backtrace id='1'>" + times(many, "<x/>") +
                            "<backtrace><frame name='f'/></backtrace></tagged-backtrace></row>";
  const Profile p =
      read_text("<trace-query-result>" + first +
                    times(many, "<row><tagged-backtrace ref='1'/></row>") + "</trace-query-result>",
                "xctrace");
  CHECK(stacks(p) == Stacks{{"f", many + 1}});
}

TEST_CASE("java-heapz: a long name in many stacks") {
  const Profile p =
      read_text("--- heapz 1 ---\nformat = java\nresolution = bytes\n" +
                    times(many, "  1048576 1 @ 0x1 0x1\n") + "  0x1 " + long_name + " (F.java:3)\n",
                "java-heapz");
  CHECK(p.touched().size() == 1);
}

TEST_CASE("bpftrace-json: names of maps and keys in front of many entries") {
  const std::string entries = times(many, R"("k": 1, )") + R"("k": 1)";
  // bpftrace has no such names.
  CHECK(error_of(R"({"type": "map", "data": {"@)" + long_name + R"(": {)" + entries + "}}}\n",
                 "bpftrace-json")
            .find("so long a name") != std::string::npos);
  // Maps do not share keys.
  const std::string keys = R"({"type": "map", "data": {"@a": {")" + long_name +
                           R"(": 1}, "@a": [)" + times(many, "1, ") + "1]}}\n";
  const Profile p = read_text(keys, "bpftrace-json");
  CHECK(stacks(p) == Stacks{{long_name, 1}, {"[no stack]", many + 1}});
}

TEST_CASE("heaptrack: traces of instructions with hundreds of inlined functions") {
  std::string text = "v 10400 2\nX f\ns f\ni 1 0" + times(256, " 1 0 0") + "\n";
  for (size_t i = 0; i < many; ++i) {
    char line[40];
    std::snprintf(line, sizeof line, "t 1 %zx\n", i);
    text += line;
  }
  CHECK(error_of(text + "a 1 1\n+ 0\n", "heaptrack").find("8 frames a byte") != std::string::npos);
}

TEST_CASE("jemalloc: a thread with a long name in many stacks") {
  const Profile p =
      read_text("heap_v2/524288\n  t*: 1: 1 [0: 0]\n  t0: 1: 1 [0: 0] " + long_name + "\n" +
                    times(many, "@ 0x1\n  t0: 1: 1 [0: 0]\n") + "\nMAPPED_LIBRARIES:\n",
                "jemalloc", {.tid = true});
  CHECK(p.touched().size() == 1);
}

TEST_CASE("perf script, compatible: a frame of many functions in a module of a long name") {
  CHECK(error_of("ab 1 cycles:\n 1 " + times(many, "[unknown]->") + "f (/" + long_name + ")\n\n",
                 "perf-script", {.compat = true})
            .find("so long a name") != std::string::npos);
}

TEST_CASE("perf script: pages freed one by one of more than there can be") {
  const std::string allocated =
      "a 1 [0] 1.0: 8388607 kmem:mm_page_alloc: pfn=0x100 order=40\n  1 f (x)\n\n";
  const std::string freed = "a 1 [0] 2.0: 1 kmem:mm_page_free: pfn=0x100 order=0\n  1 f (x)\n\n";
  const int64_t pages = int64_t{8388607} << 40U;
  CHECK(read_text(allocated + freed, "perf-script", {.net = true}).total(0) == pages - 1);
  // The rest is read by its parts.
  const Profile p =
      read_text("a 1 [0] 1.0: 3 kmem:mm_page_alloc: pfn=0x100 order=1\n  1 f (x)\n\n" + freed +
                    "a 1 [0] 3.0: 1 kmem:mm_page_free: pfn=0x101 order=0\n"
                    "  1 f (x)\n\n"
                    "a 1 [0] 4.0: 1 kmem:mm_page_free: pfn=0x102 order=1\n"
                    "  1 f (x)\n\n",
                "perf-script", {.net = true});
  CHECK(p.total(0) == 6 - 1 - 1 - 2);
}

TEST_CASE("perf script: the smallest number cannot be taken back as the largest") {
  const std::string text =
      "a 1 [0] 1.0: kmem:kmalloc: ptr=0x10 bytes_alloc=-9223372036854775808\n  1 f (x)\n\n"
      "a 1 [0] 2.0: kmem:kfree: ptr=0x10\n  1 f (x)\n\n";
  CHECK(read_text(text, "perf-script", {.net = true}).total(0) == 0);
}

TEST_CASE("bcc-stacks: a delimiter behind each frame of a deep stack") {
  const std::string frames = "\n" + times(many, "    ffffffff81 f\n    --\n") + "    1\n";
  CHECK(read_text(frames, "bcc-stacks").total(0) == 1);
}

TEST_CASE("memflame-json: losses beyond 64 bits stop at the largest number") {
  const std::string loss =
      R"("ring_full": {"bytes": 9223372036854775807, "events": 18446744073709551615})";
  const Profile p =
      read_text(R"({"format": "memflame-profile", "value_types": [{"name": "a", "unit": "bytes"}],)"
                R"( "losses": {)" +
                    loss + ", " + loss +
                    R"(, "stack_table_full": {"bytes": 1}},)"
                    R"( "stacks": [{"frames": ["f"], "values": [1]}]})",
                "memflame-json");
  CHECK(p.losses[Loss::ring_full].bytes == INT64_MAX);
  CHECK(p.losses.lost_bytes() == INT64_MAX);
  CHECK(p.losses.lost_events() == UINT64_MAX);
}
