// SPDX-License-Identifier: BSD-2-Clause
// What is written is read again: whole, cut anywhere, and damaged anywhere.
#include <doctest/doctest.h>
#include <zlib.h>

#include <cstring>

#include "collapse/chunks/chunks.h"
#include "collapse/history/run_codec.h"
#include "collapse/input.h"
#include "core/error.h"
#include "tests/collapse/history/history_run.h"
#include "tests/support/scaled.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

// The offsets at which chunks end.
std::vector<size_t> chunk_ends(const std::string& bytes) {
  std::vector<size_t> ends{recording_magic.size()};
  while (ends.back() < bytes.size()) {
    const auto head = ChunkHead::read(std::string_view(bytes).substr(ends.back()));
    REQUIRE(head);
    ends.push_back(ends.back() + ChunkHead::size + head->stored_bytes);
  }
  return ends;
}

std::string error_of(const std::string& bytes) {
  try {
    read_bytes(bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool says(const History& history, std::string_view text) {
  for (const std::string& note : history.recording.meta.notes)
    if (note.find(text) != std::string::npos) return true;
  return false;
}

// Either refused, or a beginning of what was written, with a note if anything is missing.
void check_beginning(const std::string& bytes, const History& written) {
  try {
    const History read = read_bytes(bytes);
    CHECK(is_beginning(read, written));
    if (!read.is_complete) CHECK(says(read, "the recording ends after "));
    if (read.is_complete) CHECK(read.looks.size() == written.looks.size());
  } catch (const Error& error) {
    CHECK(std::strlen(error.what()) > 10);
  }
}

}  // namespace

TEST_CASE("a run is read as it was written") {
  MadeUpRun run;
  const std::string bytes = recorded(run, 200);
  RecordingState state;
  const History read = read_bytes(bytes, state);
  const History& written = run.history();
  CHECK(is_beginning(read, written));
  CHECK(read.looks == written.looks);
  CHECK(read.recording.stacks.size() == written.recording.stacks.size());
  CHECK(read.tracks.size() == written.tracks.size());
  CHECK(read.marks.size() == 13);
  CHECK(read.is_complete);
  CHECK(state.has_names);
  CHECK(state.is_this_boot);
  CHECK(read.recording.meta.command == written.recording.meta.command);
  CHECK(read.recording.meta.notes.empty());
  REQUIRE(read.recording.spaces.size() == written.recording.spaces.size());
  for (size_t i = 0; i < read.recording.spaces.size(); ++i) {
    const Space &a = read.recording.spaces[i], &b = written.recording.spaces[i];
    CHECK(a.comm == b.comm);
    CHECK(a.pid == b.pid);
    REQUIRE(a.mappings.size() == b.mappings.size());
    for (size_t m = 0; m < a.mappings.size(); ++m) {
      CHECK(a.mappings[m].start == b.mappings[m].start);
      CHECK(a.mappings[m].end == b.mappings[m].end);
      CHECK(a.mappings[m].until_ns == b.mappings[m].until_ns);
      CHECK(a.mappings[m].module == b.mappings[m].module);
    }
  }
  REQUIRE(read.recording.modules.size() == 4);
  CHECK(read.recording.modules[2].path == "/usr/lib/lib1.so");
  CHECK(read.recording.modules[2].build_id == "0123456789abcdef1");
  CHECK(read.recording.modules[2].unchanged_since_ns < INT64_MAX);
  CHECK(read.recording.scripts == written.recording.scripts);
  CHECK(read.recording.frames == written.recording.frames);
  REQUIRE(read.recording.locations.size() == written.recording.locations.size());
  for (size_t i = 1; i < read.recording.locations.size(); ++i) {
    const Location &a = read.recording.locations[i], &b = written.recording.locations[i];
    CHECK(a.pc == b.pc);
    REQUIRE(a.symbols.size() == b.symbols.size());
    CHECK(a.symbols.back().function == b.symbols.back().function);
    CHECK(a.symbols.back().line == b.symbols.back().line);
  }
}

TEST_CASE("the time of day of a run is that of its first chunk") {
  RunHead head;
  head.types = {{"live", Unit::bytes}};
  head.meta.began_ns = 1'700'000'000'000'000'123;
  const std::string bytes = encode(head);
  const auto read = [](std::string_view content) {
    MemoryBudget budget;
    budget.allow(1 << 20U);
    ByteReader in(content);
    return decode_head(in, budget).meta.began_ns;
  };
  CHECK(read(bytes) == head.meta.began_ns);
  // Older files end before it.
  ByteWriter own;
  own.signed_number(head.meta.began_ns);
  CHECK(read(std::string_view(bytes).substr(0, bytes.size() - own.take().size())) == 0);
  head.meta.began_ns = -1;
  CHECK_THROWS_AS(read(encode(head)), DamagedChunk);
}

TEST_CASE("files that were written earlier are read") {
  MadeUpRun run(
      {.stacks_at_once = 3, .stacks_a_step = 0, .most_stacks = 4, .changed = 2, .survey_every = 2});
  for (int i = 0; i < 4; ++i) run.step();
  Source source = Source::open(std::string(TEST_DATA) + "/recording/run0.mfr");
  const History read = read_history(source);
  CHECK(read.is_complete);
  CHECK(is_beginning(read, run.history()));
  CHECK(read.looks == run.history().looks);
}

TEST_CASE("losses, comparisons, candidates and shared names are read again") {
  MadeUpRun run;
  run.step();
  const RecordingFile file;
  HistoryWriter writer = writer_of(file.path(), run);
  writer.add(run.history(), run.last());
  History end = run.history();
  end.recording.meta.notes = {"a note"};
  end.recording.meta.seconds = 1.25;
  end.recording.meta.reconciliation = {{.name = "VmRSS growth", .captured = 5, .os = -7}};
  end.recording.losses.add(Loss::ring_full, 3, 4096);
  end.recording.shared_names = {"malloc"};
  end.recording.candidates = {{.kind = "double free",
                               .detail = {},
                               .events = 2,
                               .bytes = -1,
                               .freeing = RawStackId{1},
                               .allocating = RawStackId{2},
                               .first_freeing = {}}};
  writer.finish(end);
  RecordingState state;
  const Recording read = read_bytes(file.bytes(), state).recording;
  CHECK(read.meta.notes == end.recording.meta.notes);
  CHECK(read.meta.seconds == 1.25);
  REQUIRE(read.meta.reconciliation.size() == 1);
  CHECK(read.meta.reconciliation[0].os == -7);
  CHECK(read.losses[Loss::ring_full].events == 3);
  CHECK(read.losses[Loss::ring_full].bytes == 4096);
  CHECK(read.shared_names == end.recording.shared_names);
  REQUIRE(read.candidates.size() == 1);
  CHECK(read.candidates[0].allocating == RawStackId{2});
  CHECK_FALSE(state.has_names);  // it was not symbolized
}

TEST_CASE("a recording that ends anywhere is read up to its last whole chunk") {
  MadeUpRun run;
  const std::string bytes = recorded(run, scaled(120));
  const std::vector<size_t> ends = chunk_ends(bytes);
  size_t looks = 0;
  for (const size_t end : ends) {
    const std::string part = bytes.substr(0, end);
    check_beginning(part, run.history());
    if (!error_of(part).empty()) continue;
    const size_t now = read_bytes(part).looks.size();
    CHECK(now >= looks);
    looks = now;
  }
  CHECK(looks == run.history().looks.size());
  std::mt19937_64 random(7);
  for (size_t i = 0; i < scaled(1000); ++i)
    check_beginning(bytes.substr(0, random() % bytes.size()), run.history());

  const History cut = read_bytes(bytes.substr(0, ends[ends.size() - 2] + 5));
  CHECK_FALSE(cut.is_complete);
  CHECK(says(cut, "in the middle of a chunk, whose 5 bytes are left out"));
  CHECK(error_of(bytes.substr(0, ends[1])).find("before its first look") != std::string::npos);
}

TEST_CASE("a recording that was not finished says so") {
  MadeUpRun run({.step_ns = 1'000'000'000});
  const std::string bytes = recorded(run, 12, false);
  RecordingState state;
  const History read = read_bytes(bytes, state);
  CHECK(read.looks == run.history().looks);
  CHECK(read.recording.meta.notes ==
        std::vector<std::string>{"the recording ends after 12.0 s: it was not finished",
                                 "what the run had lost until then is not known"});
  CHECK(state.is_cut);
  CHECK(read.recording.frames.empty());
}

TEST_CASE("no bit can change without a word") {
  MadeUpRun run;
  const std::string bytes = recorded(run, scaled(60));
  std::mt19937_64 random(11);
  for (size_t i = 0; i < scaled(1000); ++i) {
    std::string damaged = bytes;
    damaged[random() % bytes.size()] ^= static_cast<char>(1U << (random() % 8));
    try {
      const History read = read_bytes(damaged);
      CHECK_FALSE(read.is_complete);
      CHECK(is_beginning(read, run.history()));
      CHECK((says(read, "it is damaged at byte ") || says(read, "in the middle of a chunk")));
    } catch (const Error&) {
    }
  }
}

TEST_CASE("chunks that are missing or come twice are noticed") {
  MadeUpRun run;
  const std::string bytes = recorded(run, 30);
  const std::vector<size_t> ends = chunk_ends(bytes);
  for (const size_t i : {ends.size() / 3, ends.size() / 2}) {
    const std::string chunk = bytes.substr(ends[i], ends[i + 1] - ends[i]);
    const std::string without = bytes.substr(0, ends[i]) + bytes.substr(ends[i + 1]);
    const std::string twice = bytes.substr(0, ends[i]) + chunk + bytes.substr(ends[i]);
    for (const std::string& part : {without, twice}) {
      const History read = read_bytes(part);
      CHECK(is_beginning(read, run.history()));
      CHECK(says(read, "a chunk before it is missing"));
    }
  }
}

TEST_CASE("chunks of an unknown kind are skipped and counted") {
  MadeUpRun run;
  const std::string bytes = recorded(run, 20, false);
  const size_t chunks = chunk_ends(bytes).size() - 1;
  std::string more;
  ChunkPacker packer;
  packer.pack({.kind = static_cast<ChunkKind>(chunk_letters("new!")), .content = "whatever"},
              static_cast<uint16_t>(chunks), more);
  packer.pack({.kind = static_cast<ChunkKind>(chunk_letters("new!")), .content = ""},
              static_cast<uint16_t>(chunks + 1), more);
  const History read = read_bytes(bytes + more);
  CHECK(read.looks == run.history().looks);
  CHECK(says(read, "2 chunks of kinds that this memflame does not know"));
}

TEST_CASE("a known chunk of a later version is refused") {
  MadeUpRun run;
  std::string bytes = recorded(run, 5);
  const size_t at = chunk_ends(bytes)[2];
  bytes[at + 4] = 2;
  const uint32_t sum = static_cast<uint32_t>(
      ::crc32_z(0, reinterpret_cast<const unsigned char*>(bytes.data() + at), ChunkHead::size - 4));
  std::memcpy(bytes.data() + at + ChunkHead::size - 4, &sum, sizeof(sum));
  CHECK(error_of(bytes) ==
        "run.mfr: it was written by a later version of memflame: use that one to read it");
}

TEST_CASE("looks are thinned when they need too much memory") {
  MadeUpRun run({.survey_every = 2});
  const std::string bytes = recorded(run, 400);
  RecordingState state;
  const History read =
      read_bytes(bytes, state, {.look_bytes = 100'000, .survey_bytes = uint64_t{1} << 30U});
  CHECK(read.looks.size() < 300);
  CHECK(figures_of(read) == figures_of(run.history()));
  CHECK(says(read, "of its older looks were joined with later ones"));
  CHECK(read.looks.back() == run.history().looks.back());

  const History fewer = read_bytes(bytes, state, {.survey_bytes = 20'000});
  CHECK(fewer.looks.size() == 400);
  CHECK(says(fewer, "of its surveys of live blocks were left out"));
  CHECK(fewer.looks.back() == run.history().looks.back());
}

TEST_CASE("a small file cannot ask for much memory") {
  ChunkPacker packer;
  std::string large;
  packer.pack({.kind = ChunkKind::texts, .content = std::string(1'000'000, '\0')}, 0, large);
  const auto head = ChunkHead::read(large);
  REQUIRE(head);
  CHECK(head->content_bytes <= largest_content(head->stored_bytes));
}
