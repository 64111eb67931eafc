// SPDX-License-Identifier: BSD-2-Clause
// A made-up run for the tests of recordings: each step is one look, with what a recorder would know
// by then.
#pragma once

#include <filesystem>
#include <functional>
#include <random>
#include <string>

#include "collapse/history/reader.h"
#include "collapse/history/writer.h"
#include "core/history.h"

namespace memflame {

inline constexpr uint64_t a_second = 1'000'000'000;

struct RunShape {
  size_t stacks_at_once = 20, stacks_a_step = 1, most_stacks = 60;
  size_t changed = 5;       // tracks that change in a step
  size_t survey_every = 4;  // 0 = no surveys
  uint64_t step_ns = a_second;
  unsigned seed = 1;
};

class MadeUpRun {
 public:
  explicit MadeUpRun(const RunShape& shape = {});

  void step();
  // Gives all stacks names.
  void name();
  // The history with all looks so far.
  const History& history() const { return history_; }
  const Look& last() const { return history_.looks.back(); }
  // Keeps only the last look, for long runs.
  void forget_looks();

 private:
  void add_stack();
  int64_t any(int64_t least, int64_t most);
  void survey(Look& look);

  RunShape shape_;
  std::mt19937_64 random_;
  History history_;
  std::vector<std::vector<int64_t>> figures_;  // by track
  std::vector<uint64_t> stretches_;
  std::vector<std::vector<Look::Cell>> cells_;  // by track; the stretch is its begin's place
  uint64_t time_ns_ = 0;
};

// A file in a folder of its own that is removed with it.
class RecordingFile {
 public:
  RecordingFile();
  ~RecordingFile();
  RecordingFile(const RecordingFile&) = delete;
  RecordingFile& operator=(const RecordingFile&) = delete;

  std::string path() const { return (folder_ / "run.mfr").string(); }
  std::string bytes() const;

 private:
  std::filesystem::path folder_;
};

HistoryWriter writer_of(const std::string& path, const MadeUpRun& run, HistoryLimits limits = {});
HistoryWriter writer_of(const std::string& path, const History& history, HistoryLimits limits = {},
                        EventOptions events = {});

// The bytes of a run of that many looks.
std::string recorded(MadeUpRun& run, size_t looks, bool finish = true, HistoryLimits limits = {});

History read_bytes(const std::string& bytes, RecordingState& state,
                   const HistoryReadLimits& limits = {});
History read_bytes(const std::string& bytes);

// The last figures of each track.
std::vector<std::vector<int64_t>> figures_of(const History& history);

// Whether what was read is the beginning of what was written, figure by figure.
bool is_beginning(const History& read, const History& written);

}  // namespace memflame
