// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/run_notes.h"

#include <doctest/doctest.h>

#include "core/error.h"
#include "probes/alloc/settings/options.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

using Lines = std::vector<std::string>;

std::string refusal(const ProbeOptions& options) {
  Run run;
  try {
    judge_emptiness("no call", options, run);
  } catch (const Error& error) {
    CHECK(error.exit_code == ExitCode::failure);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("options that leave blocks out are named with their figures") {
  ProbeOptions options;
  CHECK(filters_in_words(options).empty());
  options.min_size = 4096;
  CHECK(filters_in_words(options) ==
        Lines{"filtered: only blocks of 4,096 bytes or more (--min-size)"});
  options.max_size = 8192;
  const auto own = std::make_shared<AllocOptions>();
  own->object = "libc.so*";
  options.own = own;
  CHECK(filters_in_words(options) ==
        Lines{"filtered: only blocks of 4,096 to 8,192 bytes (--min-size, --max-size)",
              "filtered: only the allocator in libc.so* (--obj)"});
  options.min_size = 0;
  CHECK(filters_in_words(options)[0] ==
        "filtered: only blocks of 8,192 bytes or less (--max-size)");
}

TEST_CASE("a run that watched nothing is an error, unless it watched the whole system") {
  ProbeOptions options;
  CHECK(refusal(options).empty());
  options.target.comm = "nosuch";
  CHECK(refusal(options).find("--comm nosuch: nothing was watched") == 0);
  options.target.comm.clear();
  options.target.pids = {12};
  CHECK(refusal(options).find("nothing was watched") == 0);
}

TEST_CASE("an empty result that is true says so") {
  Run run;
  run.info.pids = {12, 13};
  run.info.seconds = 1.25;
  judge_emptiness("no call", {}, run);
  CHECK(run.recording.meta.notes ==
        Lines{"nothing happened: 2 processes were watched for 1.2 s, with no call"});
  SUBCASE("an event") { run.info.counters.events = 1; }
  SUBCASE("a free") { run.info.counters.free_misses = 1; }
  SUBCASE("one that was passed over") { run.info.counters.passed_over = 1; }
  SUBCASE("one that was lost") { run.recording.losses.add(Loss::ring_full, 1); }
  run.recording.meta.notes = {};
  if (run.info.counters.events + run.info.counters.free_misses + run.info.counters.passed_over +
          run.recording.losses.lost_events() ==
      0)
    return;
  judge_emptiness("no call", {}, run);
  CHECK(run.recording.meta.notes.empty());
}
