// SPDX-License-Identifier: BSD-2-Clause
#include "cli/runs/time_axis.h"

#include <doctest/doctest.h>

#include <vector>

#include "core/error.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

// Counts the looks that are taken.
class CountedRun : public LiveRun {
 public:
  Look look(History&, bool survey) override {
    surveys.push_back(survey);
    return {};
  }
  void read_pss() override {}
  Snapshot snapshot(const SnapshotOptions&) override { return {}; }
  Recording recording_of(std::span<const LiveStack* const>, bool) override { return {}; }
  TrackId track_of(uint64_t) const override { return {}; }
  Recording so_far() override { return {}; }
  Losses losses() const override { return {}; }
  std::vector<pid_t> living() const override { return {}; }
  int64_t resident_bytes() const override { return 0; }
  std::optional<double> memory_pressure() const override { return std::nullopt; }

  std::vector<bool> surveys;
};

TEST_CASE("a look is taken once per interval, however often the run asks") {
  CountedRun run;
  TimeAxis axis(1, true);
  size_t looks = 0;
  for (int i = 0; i <= 300; ++i)
    if (axis.look(run, i / 100.0)) ++looks;
  CHECK(looks == 4);  // at 0, 1, 2 and 3 s
  CHECK(run.surveys == std::vector<bool>(4, true));
  axis.last(run);
  CHECK(run.surveys.size() == 5);
  CHECK(axis.in_words().empty());
}

TEST_CASE("without the ages of blocks there are no surveys") {
  CountedRun run;
  TimeAxis axis(1, false);
  axis.look(run, 0);
  axis.last(run);
  CHECK(run.surveys == std::vector<bool>(2, false));
}

}  // namespace
