// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/looks.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <map>

#include "probes/processes/processes.h"
#include "probes/run/run_figures.h"
#include "probes/stacks/rows.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr SpaceId space{1};

bool is_first(SpaceId process) { return process == space; }

// A process with a stack for each of its allocations, which ends when it is told to.
class EndingProcess : public RunFigures {
 public:
  EndingProcess() {
    processes_.spaces().adopt(space, ::getpid(), 1);
    allocate(11, 100);
  }

  const StackLog& stacks() const override { return log_; }
  const Processes& processes() const override { return processes_; }
  void catch_up() override { caught_up_ns_ = monotonic_ns(); }
  void add_figures(size_t, std::span<const ValueType>, Rows& rows) override {
    complete_until_ns_ = caught_up_ns_;
    for (const auto& [key, bytes] : live_) rows.add(key, "", {bytes}, 1);
    if (ends_while_read_) end();
  }
  void for_each_block(const VisitBlock&) override {}
  void for_each_sum(const VisitSum&) override {}
  uint64_t unseen_frees() const override { return 0; }

  void allocate(uint64_t key, int64_t bytes, SpaceId process = space) {
    RawStack stack;
    stack.space = process;
    stack.pcs = {{key, false}};
    log_.keep(key, std::move(stack));
    live_[key] = bytes;
  }
  void forget() {
    log_.forget(is_first);
    live_.clear();
  }
  void ends_while_figures_are_read() { ends_while_read_ = true; }
  // The time until which the figures that were added had all that comes as records.
  uint64_t complete_until_ns() const { return complete_until_ns_; }

 private:
  void end() {
    ends_while_read_ = false;
    allocate(22, 200);
    processes_.spaces().end(space, monotonic_ns());
  }

  Processes processes_{Target{}, true, Processes::Log::none};
  StackLog log_;
  std::map<uint64_t, int64_t> live_;
  bool ends_while_read_ = false;
  uint64_t caught_up_ns_ = 0, complete_until_ns_ = 0;
};

}  // namespace

TEST_CASE("a process ends in the look that has all of its figures") {
  EndingProcess figures;
  Looks looks({{"alloc", true, {{"live", Unit::bytes}}}}, monotonic_ns());
  History history;
  CHECK(looks.take(figures, history, false).ended.empty());

  figures.ends_while_figures_are_read();
  const Look during = looks.take(figures, history, false);
  CHECK(during.ended.empty());
  CHECK(during.rows.empty());

  const Look after = looks.take(figures, history, false);
  CHECK(after.rows.size() == 1);
  CHECK(after.ended == std::vector{space});
  CHECK(looks.take(figures, history, false).ended.empty());
}

TEST_CASE("stacks of processes that are gone make room in the tables") {
  EndingProcess figures;
  Looks looks({{"alloc", true, {{"live", Unit::bytes}}}}, monotonic_ns());
  History history;
  figures.ends_while_figures_are_read();
  looks.take(figures, history, false);
  CHECK(looks.take(figures, history, false).ended == std::vector{space});
  const size_t tracks = history.tracks.size(), stacks = history.recording.stacks.size();

  constexpr SpaceId other{2};
  figures.allocate(33, 300, other);
  CHECK(looks.take(figures, history, false).rows.size() == 1);
  CHECK(looks.forget(is_first, history).size() == 2);
  figures.forget();
  figures.allocate(33, 300, other);
  figures.allocate(44, 400, other);
  figures.allocate(55, 500, other);
  const Look look = looks.take(figures, history, false);
  REQUIRE(look.rows.size() == 2);
  for (const Look::Row& row : look.rows) {
    const Track& track = history.tracks[row.track.index];
    CHECK(track.space == other);
    const uint64_t address = history.recording.stacks[track.stack.index].pcs.at(0).addr;
    CHECK(row.values[0] == (address == 44 ? 400 : 500));
  }
  CHECK(history.tracks.size() == tracks + 1);
  CHECK(history.recording.stacks.size() == stacks + 1);
  CHECK(look.ended.empty());
}

TEST_CASE("a look has all that was recorded before its time") {
  EndingProcess figures;
  const uint64_t start_ns = monotonic_ns();
  Looks looks({{"alloc", true, {{"live", Unit::bytes}}}}, start_ns);
  History history;
  const Look look = looks.take(figures, history, false);
  CHECK(start_ns + look.time_ns <= figures.complete_until_ns());
}
