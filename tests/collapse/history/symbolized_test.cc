// SPDX-License-Identifier: BSD-2-Clause
// Names are added behind the figures of a recording, whether its run finished or not.
#include "collapse/history/symbolized.h"

#include <doctest/doctest.h>

#include "core/error.h"
#include "tests/collapse/history/history_run.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr size_t looks = 40;

// The stacks are made up: no file has names for them, and each frame becomes an address.
SymbolSources no_files() { return {.debug_servers = false, .files = false, .kallsyms_path = ""}; }

std::string finished_without_names(MadeUpRun& run) {
  const RecordingFile file;
  HistoryWriter writer = writer_of(file.path(), run);
  for (size_t i = 0; i < looks; ++i) {
    run.step();
    writer.add(run.history(), run.last());
  }
  writer.finish(run.history());
  return file.bytes();
}

NamedFile named(const std::string& bytes) { return with_names(bytes, "run.mfr", no_files()); }

void check_named(const std::string& before, const std::string& after) {
  RecordingState state, old_state;
  const History old = read_bytes(before, old_state), read = read_bytes(after, state);
  CHECK_FALSE(old_state.has_names);
  CHECK(state.has_names);
  CHECK(read.is_complete == old.is_complete);
  CHECK(read.looks == old.looks);
  CHECK(read.marks == old.marks);
  CHECK(read.recording.meta.title == old.recording.meta.title);
  for (size_t loss = 0; loss < loss_info.size(); ++loss) {
    const auto which = static_cast<Loss>(loss);
    CHECK(read.recording.losses[which].events >= old.recording.losses[which].events);
  }
  REQUIRE(read.recording.frames.size() == read.recording.stacks.size());
  for (size_t i = 1; i < read.recording.stacks.size(); ++i)
    CHECK(read.recording.frames[i].size() == read.recording.stacks[i].pcs.size());
}

}  // namespace

TEST_CASE("a run that finished without names gets them, and stays finished") {
  MadeUpRun run;
  const std::string bytes = finished_without_names(run);
  const NamedFile file = named(bytes);
  CHECK_FALSE(file.had_names);
  CHECK(file.places > 0);
  CHECK(file.nameless <= file.places);
  check_named(bytes, file.bytes);
}

TEST_CASE("a run that did not finish gets names, and is not finished by that") {
  MadeUpRun run;
  const std::string bytes = recorded(run, looks, false);
  const NamedFile file = named(bytes);
  check_named(bytes, file.bytes);
  CHECK(file.bytes.starts_with(bytes));
  const std::string half_a_chunk = bytes + bytes.substr(bytes.size() - 5);
  CHECK(named(half_a_chunk).bytes == file.bytes);
}

TEST_CASE("a recording cut anywhere gets names for what is left") {
  MadeUpRun run;
  run.name();
  const std::string bytes = recorded(run, looks);
  size_t cut = 0;
  for (size_t size = bytes.size() / 2; size < bytes.size(); size += 1 + bytes.size() / 200) {
    const NamedFile file = named(bytes.substr(0, size));
    RecordingState state;
    const History read = read_bytes(file.bytes, state);
    CHECK(state.has_names);
    CHECK(is_beginning(read, run.history()));
    ++cut;
  }
  CHECK(cut > 50);
}

TEST_CASE("names are not added twice") {
  MadeUpRun run;
  const NamedFile once = named(finished_without_names(run));
  const NamedFile twice = named(once.bytes);
  CHECK(twice.had_names);
  CHECK(twice.bytes == once.bytes);
  CHECK(twice.places == once.places);
  CHECK(twice.nameless == once.nameless);
}

TEST_CASE("a damaged recording is refused: what follows would be lost") {
  MadeUpRun run;
  std::string bytes = recorded(run, looks);
  bytes[bytes.size() * 3 / 4] ^= 1;
  CHECK_THROWS_AS(named(bytes), Error);
}
