// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <cmath>

#include "tests/collapse/inputs/inputs.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

const std::string two_stacks =
    "heap_v2/524288\n"
    "  t*: 14: 1055264 [3: 3072]\n"
    "  t0: 13: 6688 [3: 3072] main\n"
    "  t7: 1: 1048576 [0: 0] worker one\n"
    "@ 0x1001 0x2001\n"
    "  t*: 13: 6688 [3: 3072]\n"
    "  t0: 12: 6496 [3: 3072]\n"
    "  t7: 1: 192 [0: 0]\n"
    "@ 0x1002 0x2001\n"
    "  t*: 1: 1048576 [0: 0]\n"
    "  t7: 1: 1048576 [0: 0]\n"
    "\n"
    "MAPPED_LIBRARIES:\n"
    "1000-2000 r-xp 00000000 00:00 0                          /no/such/libfoo.so\n"
    "2000-3000 r-xp 00001000 00:00 0                          /no/such/program\n";

Profile read(const std::string& text, const ReadOptions& options = {}) {
  return read_text(text, "jemalloc", options);
}

}  // namespace

TEST_CASE("each stack is scaled by its own average size; rows of threads are not added") {
  const Profile p = read(two_stacks);
  // 1 / (1 - exp(-(6688 / 13) / 524288)) = 1019.6… and 1 / (1 - exp(-2)) = 1.1565…
  CHECK(stacks(p, "inuse_objects") == Stacks{{"[program+0x1001];[libfoo.so+0x1]", 13254},
                                             {"[program+0x1001];[libfoo.so+0x2]", 1}});
  CHECK(stacks(p, "inuse_space") == Stacks{{"[program+0x1001];[libfoo.so+0x1]", 6819088},
                                           {"[program+0x1001];[libfoo.so+0x2]", 1212696}});
  CHECK(p.total(column(p, "alloc_objects")) == 1537);
  CHECK(p.types[p.shown].name == "inuse_space");
  CHECK(p.meta.sampling == "1 sample per 512 KiB, scaled");
  CHECK(p.losses.lost_events() == 0);
  for (const FrameId frame : p.path(p.touched()[0]))
    CHECK(p.frames[frame].kind == FrameKind::unknown);
}

TEST_CASE("estimates have an error") {
  const Profile p = read(two_stacks);
  const size_t space = column(p, "inuse_space");
  const double small = 6688.0 / 13;
  const double chance = 1 - std::exp(-small / 524288);
  const double large = 1 - std::exp(-2.0);
  const double variance = 13 * (1 - chance) / (chance * chance) * small * small +
                          (1 - large) / (large * large) * 1048576.0 * 1048576.0;
  CHECK(p.total_error(space) == doctest::Approx(std::sqrt(variance)).epsilon(1e-4));
  CHECK(p.total_error(column(p, "inuse_objects")) > 0);
}

TEST_CASE("threads as roots") {
  const Profile p = read(two_stacks, {.tid = true});
  const Stacks found = stacks(p, "alloc_objects");
  CHECK(found == Stacks{{"main (t0);[program+0x1001];[libfoo.so+0x1]", 1537}});
  CHECK(stacks(p).count("worker one (t7);[program+0x1001];[libfoo.so+0x2]") == 1);
  CHECK(stacks(p).size() == 3);
  // A stack whose threads are not listed.
  const Profile q =
      read("heap_v2/1\n  t*: 1: 8 [0: 0]\n@ 0x1\n  t*: 1: 8 [0: 0]\n\nMAPPED_LIBRARIES:\n",
           {.tid = true});
  CHECK(stacks(q) == Stacks{{"t*;[unmapped 0x1]", 8}});
}

TEST_CASE("columns of what was allocated only where it was counted; rate 1 is exact") {
  const Profile p = read(
      "heap_v2/1\n  t*: 2: 24 [0: 0]\n  t0: 2: 24 [0: 0]\n@ 0x10 0x20\n  t*: 2: 24 [0: 0]\n"
      "  t0: 2: 24 [0: 0]\n\nMAPPED_LIBRARIES:\n");
  CHECK(p.types ==
        std::vector<ValueType>{{"inuse_objects", Unit::count}, {"inuse_space", Unit::bytes}});
  CHECK(stacks(p) == Stacks{{"[unmapped 0x20];[unmapped 0x10]", 24}});
  CHECK(p.meta.sampling.empty());
  REQUIRE(p.meta.notes.size() == 1);
  CHECK(p.meta.notes[0].find("does not tell what was mapped") != std::string::npos);
}

TEST_CASE("a file that is cut off keeps what it has, and says so") {
  for (const size_t size : {two_stacks.find("MAPPED"), two_stacks.find("\n@ 0x1002") + 8}) {
    const Profile p = read(two_stacks.substr(0, size));
    CHECK(p.total(column(p, "alloc_objects")) == 1537);
    CHECK(p.meta.notes.size() >= 2);
    CHECK(error_of(two_stacks.substr(0, size), "jemalloc", {.refuse_truncated = true}) ==
          "text: it ends in the middle");
  }
  // A truncated number is rejected.
  const std::string half = two_stacks.substr(0, two_stacks.find("6688 [3: 3072]\n  t0: 12") + 2);
  CHECK(error_of(half, "jemalloc").find("no stack") != std::string::npos);
  const Profile head = read("heap_v2/524288\n  t*: 0: 0 [0: 0]\n\nMAPPED_LIBRARIES:\n");
  CHECK(head.touched().empty());
}

TEST_CASE("hostile figures and stacks") {
  const auto with = [](const std::string& row) {
    return "heap_v2/524288\n  t*: 1: 1 [0: 0]\n@ 0x1\n  t*: " + row + "\n\nMAPPED_LIBRARIES:\n";
  };
  CHECK(error_of(with("1: 99999999999999999999 [0: 0]")) ==
        "text:4: a number leaves the range of 64 bits");
  CHECK(error_of(with("9000000000000000000: 9000000000000000000 [0: 0]")).find("64 bits") !=
        std::string::npos);
  CHECK(read(with("5: 0 [0: 0]")).total(0) == 5);
  CHECK(read(with("0: 5 [0: 0]")).total(1) == 5);
  CHECK(error_of("heap_v2/18446744073709551616\n").find("64 bits") != std::string::npos);
  CHECK(!error_of("heap_v2/x\n", "jemalloc").empty());
  CHECK(!error_of("", "jemalloc").empty());
  const Profile p = read(
      "heap_v2/1\n  t*: 1: 1 [0: 0]\n@\n  t*: 1: 1 [0: 0]\n@ zz\n"
      "  t*: 1: 1 [0: 0]\njunk\n@ 0x5\n@ 0x7\n  t*: 2: 2 [0: 0]\n\nMAPPED_LIBRARIES:\n");
  CHECK(stacks(p)["[no stack]"] == 1);
  CHECK(p.total(0) == 3);
  CHECK(p.losses[Loss::input_line].events == 4);
}

TEST_CASE("recognition") {
  CHECK(recognised(two_stacks) == "jemalloc");
  CHECK(recognised("heap_v2/524288\r\n") == "jemalloc");
  CHECK(recognised("heap_v2/") != "jemalloc");
  CHECK(recognised("heap_v2/a;b 12\n") != "jemalloc");
  CHECK(recognised("main;heap_v2/5 12\n") == "folded");
}
