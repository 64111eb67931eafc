// SPDX-License-Identifier: BSD-2-Clause
#include "probes/processes/pss.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include "probes/system/procfs.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

std::string rollup(const std::string& pss) {
  return "55d0c0000000-7ffe308b6000 ---p 00000000 00:00 0                          [rollup]\n"
         "Rss:             2110816 kB\nPss:" +
         pss + "\nPss_Dirty:       2104076 kB\nPss_Anon:           6924 kB\n";
}

// Three processes; the second can be made to go, or to be unreadable.
struct MadeSystem {
  uint64_t now_ns = 1'000'000'000, cost_ns = 0;
  size_t reads = 0;
  std::string second = rollup(" 5 kB");
  bool second_lives = true;
  const PssReadings::Processes processes{{SpaceId{1}, 11}, {SpaceId{2}, 12}, {SpaceId{3}, 13}};

  PssReadings readings() {
    return PssReadings({.now_ns = [this] { return now_ns; },
                        .rollup =
                            [this](pid_t pid) {
                              ++reads;
                              now_ns += cost_ns;
                              return pid == 12 ? second : rollup("       100 kB");
                            },
                        .lives = [this](pid_t pid) { return pid != 12 || second_lives; }});
  }
};

TEST_CASE("PSS in the kernel's text, and in text that is not the kernel's") {
  CHECK(parse_pss(rollup("             2109500 kB")) == int64_t{2109500} * 1024);
  CHECK(parse_pss(rollup("  0 kB")) == 0);
  CHECK(parse_pss("Pss: 5 kB\n") == std::nullopt);  // a rollup begins with its range
  CHECK(parse_pss("x\nPss: 5 kB") == 5 * 1024);
  for (const char* text : {"", " ", " kB", " -5 kB", " +5 kB", " 5", " 5 MB", " 5kB", " 0x5 kB",
                           " 5 kB x", " 99999999999999999999 kB", " 9007199254740992 kB"})
    CHECK_MESSAGE(parse_pss(rollup(text)) == std::nullopt, text);
  CHECK(parse_pss(rollup(" 9007199254740991 kB")) == int64_t{9007199254740991} * 1024);
  CHECK(parse_pss("") == std::nullopt);
  CHECK(parse_pss("\nPss_Anon: 5 kB\n") == std::nullopt);
  CHECK(parse_pss(std::string("\nPss: 5\0 kB\n", 12)) == std::nullopt);
}

TEST_CASE("PSS of this process") {
  PssReadings readings;
  const PssReadings::Processes processes{{SpaceId{1}, ::getpid()}};
  readings.read(processes, 0);
  const auto bytes = readings.sum(processes);
  REQUIRE(bytes);
  CHECK(*bytes > 0);
  CHECK(*bytes <= parse_resident(read_file(proc_path(::getpid(), "statm"))) + (1 << 20));
  CHECK(readings.note().empty());
}

TEST_CASE("a sum over processes, which holds for ten seconds") {
  MadeSystem system;
  PssReadings readings = system.readings();
  CHECK(readings.sum(system.processes) == std::nullopt);
  readings.read(system.processes, 0);
  CHECK(readings.sum(system.processes) == 205 * 1024);
  system.second = rollup(" 50 kB");
  system.now_ns += PssReadings::least_interval_ns - 1;
  readings.read(system.processes, 0);
  CHECK(readings.sum(system.processes) == 205 * 1024);
  CHECK(system.reads == 3);
  system.now_ns += 1;
  readings.read(system.processes, 0);
  CHECK(readings.sum(system.processes) == 250 * 1024);
  // The first has ended, and another one came.
  CHECK(readings.sum({{SpaceId{2}, 12}, {SpaceId{4}, 14}}) == 50 * 1024);
  CHECK(readings.sum({{SpaceId{4}, 14}}) == std::nullopt);
  CHECK(readings.note().empty());
}

TEST_CASE("readings that take long are rare") {
  MadeSystem system;
  system.cost_ns = 200'000'000;  // three of them: 0.6 s
  PssReadings readings = system.readings();
  readings.read(system.processes, 0);
  system.now_ns += 59'000'000'000;
  CHECK_FALSE(readings.is_due());
  system.now_ns += 1'000'000'000;
  CHECK(readings.is_due());
  CHECK(readings.note() == "PSS was read every 60 s at the slowest: a reading took long");
}

TEST_CASE("what is not read is said, and is not a smaller sum") {
  MadeSystem system;
  PssReadings readings = system.readings();
  system.second = "";
  SUBCASE("a process has gone") {
    system.second_lives = false;
    readings.read(system.processes, 0);
    CHECK(readings.sum(system.processes) == 200 * 1024);
    CHECK(readings.note().empty());
  }
  SUBCASE("a process may not be read") {
    readings.read(system.processes, 0);
    CHECK(readings.sum(system.processes) == std::nullopt);
    CHECK(readings.note().starts_with("PSS is missing where /proc/PID/smaps_rollup"));
  }
  SUBCASE("there is too much") {
    readings.read(system.processes, PssReadings::most_resident + 1);
    CHECK(system.reads == 0);
    CHECK(readings.sum(system.processes) == std::nullopt);
    CHECK(readings.note() ==
          "PSS was not read while more than 16.0 GiB were resident: the kernel walks over all "
          "pages for it");
  }
}

}  // namespace
