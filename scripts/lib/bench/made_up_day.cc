// SPDX-License-Identifier: BSD-2-Clause
// Writes the recording of a made-up run: made_up_day FILE.mfr LOOKS STACKS. There is a look a
// second, in which 50 stacks change, and a survey every 15 minutes. New stacks come all the time.
#include <cstdlib>
#include <iostream>

#include "tests/collapse/history/history_run.h"

int main(int argc, char** argv) {
  using namespace memflame;  // NOLINT(google-build-using-namespace): a program of its own
  if (argc != 4) {
    std::cerr << "usage: made_up_day FILE.mfr LOOKS STACKS\n";
    return 2;
  }
  const size_t looks = std::strtoull(argv[2], nullptr, 10);
  const size_t stacks = std::strtoull(argv[3], nullptr, 10);
  constexpr size_t quarter_hour = 900, changed = 50;
  MadeUpRun run({.stacks_at_once = stacks / 10,
                 .stacks_a_step = 1 + stacks / (looks + 1),
                 .most_stacks = stacks,
                 .changed = changed,
                 .survey_every = quarter_hour});
  HistoryWriter writer = writer_of(argv[1], run);
  for (size_t i = 0; i < looks; ++i) {
    run.step();
    writer.add(run.history(), run.last());
    if (run.history().looks.size() == quarter_hour) run.forget_looks();
  }
  run.name();
  writer.finish(run.history());
}
