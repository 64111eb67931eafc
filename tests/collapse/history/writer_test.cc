// SPDX-License-Identifier: BSD-2-Clause
// Limits of a recording, and writes that fail.
#include "collapse/history/writer.h"

#include <doctest/doctest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "core/error.h"
#include "tests/collapse/history/full_disk.h"
#include "tests/collapse/history/history_run.h"
#include "tests/support/scaled.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

int sync_error = 0;

bool has_note(const History& history, std::string_view text) {
  const auto& notes = history.recording.meta.notes;
  return std::any_of(notes.begin(), notes.end(),
                     [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

}  // namespace

// The system's, unless it is to fail.
extern "C" int fdatasync(int fd) {
  errno = sync_error;
  return sync_error != 0 ? -1 : static_cast<int>(::syscall(SYS_fdatasync, fd));
}

TEST_CASE("a limit is kept, and totals stay exact") {
  MadeUpRun run({.stacks_at_once = 20, .stacks_a_step = 0, .changed = 8, .survey_every = 10});
  const RecordingFile file;
  constexpr uint64_t most = 40'000;
  HistoryWriter writer = writer_of(file.path(), run, {.max_bytes = most});
  uint64_t largest = 0;
  // Not fewer under sanitizers: the file has to reach its limit.
  for (size_t i = 0; i < 2000; ++i) {
    run.step();
    writer.add(run.history(), run.last());
    largest = std::max(largest, writer.bytes());
    if (i % 250 != 0) continue;
    const History now = read_bytes(file.bytes());
    CHECK(figures_of(now) == figures_of(run.history()));
    CHECK(now.looks.back() == run.last());
  }
  CHECK(largest <= most);
  run.name();
  writer.finish(run.history());
  const std::string bytes = file.bytes();
  CHECK(bytes.size() <= most);
  RecordingState state;
  const History read = read_bytes(bytes, state);
  CHECK(read.is_complete);
  CHECK(state.has_names);
  CHECK(figures_of(read) == figures_of(run.history()));
  CHECK(read.looks.size() < run.history().looks.size());
  CHECK(read.looks.size() > 50);
  // The past is coarser: the second half of the looks is less than half of the time.
  const uint64_t middle = read.looks[read.looks.size() / 2].time_ns;
  CHECK(middle > read.looks.back().time_ns / 2);
  // Each look that is left has the figures of its time.
  for (size_t i = 0; i < read.looks.size(); i += 10) {
    History then = run.history(), there = read;
    std::erase_if(then.looks,
                  [&](const Look& look) { return look.time_ns > read.looks[i].time_ns; });
    there.looks.resize(i + 1);
    CHECK(figures_of(there) == figures_of(then));
  }
}

TEST_CASE("stacks that alone exceed the limit end the recording with advice") {
  MadeUpRun run({.stacks_at_once = 10, .stacks_a_step = 50, .most_stacks = 100'000});
  const RecordingFile file;
  HistoryWriter writer = writer_of(file.path(), run, {.max_bytes = 20'000});
  std::string error;
  size_t looks = 0;
  for (; looks < 200 && error.empty(); ++looks) try {
      run.step();
      writer.add(run.history(), run.last());
    } catch (const Error& refused) {
      error = refused.what();
    }
  CHECK(
      error.find("the stacks of the run alone need more than 19.5 KiB; what was recorded until ") !=
      std::string::npos);
  CHECK(error.find("Use a larger --max-file") != std::string::npos);
  const History read = read_bytes(file.bytes());
  CHECK_FALSE(read.looks.empty());
  CHECK(file.bytes().size() <= 20'000);
}

TEST_CASE("names that do not fit are left out with a note") {
  MadeUpRun run({.stacks_at_once = 60, .stacks_a_step = 0});
  const RecordingFile file;
  HistoryWriter writer = writer_of(file.path(), run, {.max_bytes = 9'000});
  for (size_t i = 0; i < 10; ++i) {
    run.step();
    writer.add(run.history(), run.last());
  }
  run.name();
  writer.finish(run.history());
  CHECK(file.bytes().size() <= 9'000);
  RecordingState state;
  const History read = read_bytes(file.bytes(), state);
  CHECK(read.is_complete);
  CHECK_FALSE(state.has_names);
  CHECK(has_note(read, "names were left out of the recording"));
}

TEST_CASE("a full disk is an error, leaves what was written, and may end") {
  MadeUpRun run;
  const RecordingFile file;
  bool is_full = false;
  auto disk = std::make_unique<FullDisk>(file.path(), is_full);
  const FullDisk& applied = *disk;
  const History& history = run.history();
  HistoryWriter writer(std::move(disk), history.recording.meta, history.recording.types, 0,
                       history.gauges);
  const auto look = [&] {
    run.step();
    writer.add(run.history(), run.last());
  };
  for (int i = 0; i < 5; ++i) look();
  is_full = true;
  applied.apply();
  for (int i = 0; i < 3; ++i)
    CHECK_THROWS_WITH_AS(look(),
                         doctest::Contains("No space left on device; what was recorded until 5.0 s "
                                           "is in it"),
                         Error);
  CHECK(read_bytes(file.bytes()).looks.size() == 5);
  is_full = false;
  applied.apply();
  look();
  const History read = read_bytes(file.bytes());
  CHECK(read.looks == run.history().looks);
}

TEST_CASE("a disk that fails at the end is an error") {
  MadeUpRun run;
  const RecordingFile file;
  HistoryWriter writer = writer_of(file.path(), run);
  run.step();
  writer.add(run.history(), run.last());
  sync_error = EIO;
  CHECK_THROWS_WITH_AS(writer.finish(run.history()), doctest::Contains("Input/output error"),
                       Error);
  // What has no disk behind it.
  sync_error = EINVAL;
  writer.finish(run.history());
  sync_error = 0;
}

TEST_CASE("a week fits into the limit") {
  // A look a second for a week is scaled by 1 in 100: looks and limit. A track in twenty changes.
  constexpr uint64_t week = uint64_t{7} * 24 * 3600, scale = 100;
  constexpr uint64_t most = (uint64_t{64} << 20U) / scale;
  MadeUpRun run({.stacks_at_once = 100,
                 .stacks_a_step = 1,
                 .most_stacks = 300,
                 .changed = 15,
                 .survey_every = 60,
                 .step_ns = a_second * scale});
  const RecordingFile file;
  HistoryWriter writer = writer_of(file.path(), run, {.max_bytes = most});
  const size_t looks = scaled(week / scale);
  std::vector<std::vector<int64_t>> figures;
  for (size_t i = 0; i < looks; ++i) {
    run.step();
    writer.add(run.history(), run.last());
    figures.resize(run.history().tracks.size(), std::vector<int64_t>(4, 0));
    for (const Look::Row& row : run.last().rows)
      figures[row.track.index].assign(row.values.begin(), row.values.end());
    if (i % 100 == 99) run.forget_looks();
  }
  run.name();
  writer.finish(run.history());
  CHECK(file.bytes().size() <= most);
  const History read = read_bytes(file.bytes());
  CHECK(read.is_complete);
  CHECK(figures_of(read) == figures);
  CHECK(read.looks.size() > looks / 20);
}

TEST_CASE("what a second costs") {
  MadeUpRun run({.stacks_at_once = 1000, .stacks_a_step = 0, .changed = 50, .survey_every = 0});
  const RecordingFile file;
  HistoryWriter writer = writer_of(file.path(), run);
  run.step();
  writer.add(run.history(), run.last());
  const uint64_t first = writer.bytes();
  constexpr size_t looks = 100;
  for (size_t i = 0; i < looks; ++i) {
    run.step();
    writer.add(run.history(), run.last());
    run.forget_looks();
  }
  const uint64_t bytes = (writer.bytes() - first) / looks;
  MESSAGE("bytes a look with 50 changed tracks of 1,000: ", bytes);
  CHECK(bytes < 700);
  // Nothing changed: a head and a few numbers.
  Look quiet = run.last();
  quiet.rows.clear();
  const uint64_t before = writer.bytes();
  quiet.time_ns += 1;
  writer.add(run.history(), quiet);
  CHECK(writer.bytes() - before < 64);
}
