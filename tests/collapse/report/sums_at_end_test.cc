// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include "collapse/report/report_of.h"
#include "core/error.h"
#include "tests/support/made_history.h"

using namespace memflame;  // NOLINT(google-build-using-namespace)

namespace {

constexpr int64_t mib = 1 << 20;

struct Line {
  std::string name;
  int64_t bytes = 0;
  int level = 0;
  friend bool operator==(const Line&, const Line&) = default;
};
std::vector<Line> lines_of_sums(const History& history) {
  std::vector<Line> lines;
  for (const ReportSum& sum : sums_at_end(history))
    lines.push_back({sum.name, sum.bytes, sum.level});
  return lines;
}

// A recording of alloc, brk, mmap and fault.
struct AllProbes : HistoryMaker {
  AllProbes() {
    std::vector<ValueType>& types = history.recording.types;
    for (const char* name : {"brk-grown", "brk-outstanding", "mmap-outstanding"})
      types.push_back({name, Unit::bytes});
    for (const char* name : {"fault-gained", "fault-released"})
      types.push_back({name, Unit::pages});
    history.gauges = {
        {"resident"}, {"resident, anonymous"}, {"resident, files"}, {"resident, shared"}, {"PSS"},
        {"virtual"}};
    history.recording.meta.command = "memflame record -- ./server";
    const TrackId f = track({"f"}), anon = track({"g"}), file = track({"h"});
    history.tracks[anon.index].group = "[anon]";
    history.tracks[file.index].group = "[file]";
    look(1, {{f, {3 * mib, 3, 9 * mib, 9, 2 * mib, 2 * mib, 0, 0, 0}},
             {anon, {0, 0, 0, 0, 0, 0, 4 * mib, 1280, 256}},
             {file, {0, 0, 0, 0, 0, 0, mib, 0, 0}}})
        .gauges = {8 * mib, 5 * mib, 2 * mib, mib, no_reading, 100 * mib};
  }
};

}  // namespace

TEST_CASE("from what the allocator handed out to what is resident") {
  AllProbes run;
  CHECK(lines_of_sums(run.history) == std::vector<Line>{{"brk + mmap", 7 * mib, 0},
                                                        {"heap and anonymous mappings", 6 * mib, 1},
                                                        {"live blocks", 3 * mib, 2},
                                                        {"the rest", 3 * mib, 2},
                                                        {"mappings [file]", mib, 1},
                                                        {"touched", 4 * mib, 0},
                                                        {"resident", 8 * mib, 0},
                                                        {"anonymous", 5 * mib, 1},
                                                        {"live blocks", 3 * mib, 2},
                                                        {"the rest", 2 * mib, 2},
                                                        {"files", 2 * mib, 1},
                                                        {"shared memory", mib, 1},
                                                        {"virtual", 100 * mib, 0}});
}

TEST_CASE("live blocks have a line, whatever the system tells") {
  const auto lines = [](std::vector<Gauge> gauges, std::vector<int64_t> readings) {
    HistoryMaker alloc;
    alloc.history.recording.meta.command = "memflame record -- ./server";
    alloc.history.gauges = std::move(gauges);
    alloc.look(1, {{alloc.track({"f"}), {3, 1, 3, 1}}}).gauges = std::move(readings);
    return lines_of_sums(alloc.history);
  };
  CHECK(lines({{"resident"}, {"PSS"}, {"virtual"}}, {8, 7, 100}) ==
        std::vector<Line>{{"resident", 8, 0},
                          {"live blocks", 3, 1},
                          {"the rest", 5, 1},
                          {"PSS", 7, 0},
                          {"virtual", 100, 0}});
  CHECK(lines({{"resident"}, {"PSS"}, {"virtual"}}, {no_reading, no_reading, 100}) ==
        std::vector<Line>{{"live blocks", 3, 0}, {"virtual", 100, 0}});
  CHECK(lines({{"resident"}, {"resident, anonymous"}}, {8, 4}) ==
        std::vector<Line>{
            {"resident", 8, 0}, {"anonymous", 4, 1}, {"live blocks", 3, 2}, {"the rest", 1, 2}});
}

TEST_CASE("more live blocks than memory: the line says so, and nothing is made up") {
  AllProbes run;
  run.history.looks[0].gauges[1] = 2 * mib;
  const std::vector<ReportSum> sums = sums_at_end(run.history);
  REQUIRE(sums.size() == 12);
  CHECK(sums[7].name == "anonymous");
  CHECK(sums[7].note.starts_with("live blocks are more than this"));
  CHECK(sums[8].name == "live blocks");
  CHECK(sums[9].name == "files");
}

TEST_CASE("memory from before counting began is called that") {
  AllProbes run;
  const TrackId f{1};
  run.history.looks[0].rows = {{f, {mib, 1, mib, 1, 0, 0, 0, 0, 0}}};
  run.look(2, {{f, {2 * mib, 2, 2 * mib, 2, 0, 0, 0, 0, 0}}}).gauges = {
      9 * mib, 7 * mib, 2 * mib, 0, no_reading, 100 * mib};
  const auto lines = [&] {
    std::vector<Line> all = lines_of_sums(run.history);
    std::erase_if(all, [](const Line& line) { return line.level != 2; });
    return std::vector<Line>(all.end() - std::min<ptrdiff_t>(std::ssize(all), 3), all.end());
  };
  run.history.recording.meta.command = "memflame record -p 1";
  CHECK(lines() == std::vector<Line>{{"live blocks", 2 * mib, 2},
                                     {"held before counting began, or unknown", 4 * mib, 2},
                                     {"the rest", mib, 2}});
  // What was given back since is not counted twice.
  run.history.looks[1].gauges[1] = 3 * mib;
  CHECK(lines()[1].bytes == mib);
  CHECK(lines()[2].bytes == 0);
  // A command began with the run.
  run.history.recording.meta.command = "memflame record -- ./server";
  CHECK(lines().back() == Line{"the rest", mib, 2});
}

TEST_CASE("when all processes have ended, the figures are those before") {
  AllProbes run;
  run.look(2, {{TrackId{1}, {0, 0, 9 * mib, 9, 0, 0, 0, 0, 0}}}).gauges =
      std::vector<int64_t>(6, no_reading);
  const std::vector<ReportSum> sums = sums_at_end(run.history);
  REQUIRE(sums.size() == 13);
  CHECK(sums[0].note.ends_with("; at 1.000 s, when processes lived last"));
  CHECK(sums[2].bytes == 3 * mib);
}

TEST_CASE("only lines whose figures are known") {
  HistoryMaker alone;
  CHECK(sums_at_end(alone.history).empty());
  const TrackId f = alone.track({"f"});
  alone.look(1, {{f, {5, 1, 5, 1}}});
  CHECK(lines_of_sums(alone.history) == std::vector<Line>{{"live blocks", 5, 0}});
  // Blocks of the kernel belong to no process.
  alone.history.recording.stacks[1].kernel_pcs = 1;
  CHECK(lines_of_sums(alone.history).empty());

  HistoryMaker mmap;
  mmap.history.recording.types = {
      {"outstanding", Unit::bytes}, {"total", Unit::bytes}, {"calls", Unit::count}};
  const TrackId anon = mmap.track({"f"});
  mmap.history.tracks[anon.index].group = "[anon]";
  mmap.look(1, {{anon, {7, 9, 2}}});
  CHECK(lines_of_sums(mmap.history) ==
        std::vector<Line>{{"mmap", 7, 0}, {"mappings [anon]", 7, 1}});

  HistoryMaker brk;
  brk.history.recording.types = {
      {"grown", Unit::bytes}, {"outstanding", Unit::bytes}, {"calls", Unit::count}};
  brk.look(1, {{brk.track({"f"}), {8, 6, 3}}});
  CHECK(lines_of_sums(brk.history) == std::vector<Line>{{"brk", 6, 0}});
}

TEST_CASE("sums that do not fit are errors") {
  HistoryMaker fault;
  fault.history.recording.types = {{"gained", Unit::pages}, {"released", Unit::pages}};
  fault.look(1, {{fault.track({"f"}), {INT64_MAX, 0}}});
  CHECK_THROWS_AS(sums_at_end(fault.history), Error);
}

TEST_CASE("a look at a process that is going away is not the end") {
  HistoryMaker maker;
  maker.history.gauges = {{"resident"}};
  const TrackId f = maker.track({"f"});
  double seconds = 0;
  for (const auto& [bytes, resident] :
       {std::pair{mib, 8 * mib}, std::pair{2 * mib, int64_t{4096}}}) {
    maker.look(++seconds, {{f, {bytes, 1, bytes, 1}}});
    maker.history.looks.back().gauges = {resident};
  }
  const auto first = [&] { return lines_of_sums(maker.history).at(0); };
  CHECK(first() == Line{"resident", 4096, 0});  // it has only given memory back
  maker.history.looks.back().ended = {SpaceId{1}};
  CHECK(first() == Line{"resident", 8 * mib, 0});
}
