// SPDX-License-Identifier: BSD-2-Clause
// What memflame top shows of one moment of a run. All texts are clean (render/text/clean_text.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/losses.h"
#include "core/stack_mark.h"

namespace memflame {

// The names of a stack, innermost first.
struct TopNames {
  std::string process;  // "server (1234)"; "" if the stack belongs to no process
  // The first function that says something, then its callers, all in short.
  std::vector<std::string> functions;
  std::vector<std::string> frames;  // all, in full: "main  server.cc:42 [server]"
  size_t place = 0;                 // of functions[0] in `frames`
};

struct TopRow {
  uint64_t key = 0;                          // tells stacks apart
  int64_t bytes = 0, blocks = 0;             // that live
  double bytes_error = 0, blocks_error = 0;  // one standard error, if they are estimates
  std::optional<double> growth;              // of live bytes, per minute; none: not known yet
  // Live bytes, the latest last. Shorter than that of other rows if the stack was too small to be
  // watched at first.
  std::vector<int64_t> series;
  std::optional<VerdictKind> verdict;
  std::string sentence;                   // of the verdict
  bool has_ended = false;                 // its process
  std::shared_ptr<const TopNames> names;  // null: not looked up yet
};

struct TopData {
  std::string program;    // "server (1234)"
  std::string collector;  // "kernel", "inside"
  std::string clock;      // "16:30:01"
  double seconds = 0;     // since counting began
  int64_t live_bytes = 0, live_blocks = 0;
  std::optional<int64_t> resident;  // bytes
  std::optional<double> allocations_per_second;
  std::string sampling;  // "1 sample per 512 KiB"; "" = all figures are exact
  std::string verdicts;  // on all stacks together; "" = none was judged
  std::string slower;    // "every 3.2 s", if looking takes too long for the interval
  std::string window;    // what the series span: "1 min"
  Losses losses;         // up to now
  std::vector<TopRow> rows;
  // Stacks that hold too little to have a row, and their sums.
  size_t other_stacks = 0;
  int64_t other_bytes = 0, other_blocks = 0;
};

}  // namespace memflame
