// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/history/event_file.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "collapse/chunks/chunks.h"
#include "collapse/events/block_fold.h"
#include "core/error.h"
#include "core/units.h"
#include "tests/collapse/events/made_events.h"
#include "tests/collapse/history/full_disk.h"
#include "tests/collapse/history/history_run.h"
#include "tests/support/scaled.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

// What is read of a file.
struct ReadEvents {
  History history;
  RecordingState state;
  std::vector<uint64_t> checkpoints;
  std::vector<Item> items;
  EventsEnd end;
};

ReadEvents read_events(const std::string& bytes, uint64_t from_ns = 0) {
  ReadEvents read;
  read.history = read_bytes(bytes, read.state);
  const EventFile file([&] { return Source::of_memory(bytes, "run.mfr"); }, read.history,
                       read.state);
  read.checkpoints = file.checkpoints();
  ItemList list;
  read.end = file.read(list, from_ns);
  read.items = std::move(list.items);
  ItemList again;
  file.read(again, from_ns);
  CHECK(again.items == read.items);
  return read;
}

// Events in groups of that many.
void write_items(HistoryWriter& writer, const History& history, const std::vector<Item>& items,
                 size_t group) {
  std::vector<Event> events;
  const auto flush = [&] {
    writer.add_events(history, events);
    events.clear();
  };
  for (const Item& item : items) {
    if (const auto* event = std::get_if<Event>(&item)) {
      events.push_back(*event);
      if (events.size() == group) flush();
      continue;
    }
    flush();
    if (const auto* gap = std::get_if<EventGap>(&item)) writer.add_gap(*gap);
    if (const auto* checkpoint = std::get_if<Checkpoint>(&item))
      writer.add_checkpoint(history, checkpoint->time_ns, checkpoint->blocks);
  }
  flush();
}

// A look before the items, one behind them.
std::string recorded_items(const std::vector<Item>& items, uint64_t end_ns, bool finish = true) {
  const RecordingFile file;
  History history = history_of_events();
  HistoryWriter writer = writer_of(file.path(), history);
  writer.add(history, history.looks.front());
  write_items(writer, history, items, 20);
  Look& last = history.looks.emplace_back();
  last.time_ns = std::max<uint64_t>(end_ns, 1);
  writer.add(history, last);
  if (finish) writer.finish(history);
  return file.bytes();
}

bool is_prefix(const std::vector<Item>& items, const std::vector<Item>& whole) {
  return items.size() <= whole.size() && std::equal(items.begin(), items.end(), whole.begin());
}

// A file's chunks with their places.
std::vector<std::pair<size_t, ChunkHead>> chunks_of(const std::string& bytes) {
  std::vector<std::pair<size_t, ChunkHead>> chunks;
  for (size_t at = recording_magic.size(); at < bytes.size();) {
    const auto head = ChunkHead::read(std::string_view(bytes).substr(at));
    REQUIRE(head);
    chunks.emplace_back(at, *head);
    at += ChunkHead::size + head->stored_bytes;
  }
  return chunks;
}

bool has_note(const History& history, std::string_view text) {
  const auto& notes = history.recording.meta.notes;
  return std::any_of(notes.begin(), notes.end(),
                     [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

std::vector<Event> allocations(uint64_t first, size_t count) {
  std::vector<Event> events;
  for (uint64_t i = first; i < first + count; ++i)
    events.push_back({.kind = EventKind::allocation,
                      .time_ns = i * 1'000'000,
                      .thread = ThreadId{1},
                      .space = {},
                      .block = BlockNumber{i},
                      .stack = RawStackId{static_cast<uint32_t>(1 + i * i % 6)},
                      .address = 16 * (i * 7919 % 100'003),
                      .size = i * i % 4001});
  return events;
}

}  // namespace

TEST_CASE("a recording gives its events back, as often as asked") {
  for (unsigned seed = 1; seed <= scaled(200); ++seed) {
    CAPTURE(seed);
    const MadeUpEvents made({.seed = seed, .calls = 150});
    const ReadEvents read = read_events(recorded_items(made.items, made.end_ns));
    REQUIRE(read.items == made.items);
    CHECK(read.end.is_whole);
    CHECK(read.end.time_ns == made.end_ns);
    CHECK(read.end.note.empty());
    CHECK(read.history.threads == history_of_events().threads);
    std::vector<EventGap> gaps;
    for (const Item& item : made.items)
      if (const auto* gap = std::get_if<EventGap>(&item)) gaps.push_back(*gap);
    CHECK(read.history.gaps == gaps);
  }
}

TEST_CASE("a recording without events says so") {
  MadeUpRun run;
  const std::string bytes = recorded(run, 5);
  RecordingState state;
  const History history = read_bytes(bytes, state);
  const EventFile file([&] { return Source::of_memory(bytes); }, history, state);
  CHECK_FALSE(file.has_events());
  ItemList list;
  const EventsEnd end = file.read(list);
  CHECK(list.items.empty());
  CHECK(end.events == 0);
  CHECK(end.time_ns == history.looks.back().time_ns);
}

TEST_CASE("reading may begin at a checkpoint, and what lives at the end is the same") {
  for (unsigned seed = 1; seed <= scaled(100); ++seed) {
    CAPTURE(seed);
    const MadeUpEvents made({.seed = seed, .calls = 200, .failing_reallocs = false});
    const std::string bytes = recorded_items(made.items, made.end_ns);
    const ReadEvents whole = read_events(bytes);
    const auto leaked = [&](const std::vector<Item>& items) {
      std::vector<BlockNumber> numbers;
      BlockFold fold(whole.history, [&](const Block& block, const Chain&) {
        if (block.leaked() && block.end_ns == made.end_ns) numbers.push_back(block.number);
      });
      hand_on(items, fold);
      fold.finish(made.end_ns);
      CHECK(fold.counts().differences() == 0);
      std::sort(numbers.begin(), numbers.end());
      return numbers;
    };
    for (const uint64_t time_ns : whole.checkpoints) {
      const ReadEvents part = read_events(bytes, time_ns + 1);
      REQUIRE_FALSE(part.items.empty());
      const auto* first = std::get_if<Checkpoint>(&part.items.front());
      REQUIRE(first != nullptr);
      CHECK(first->time_ns == time_ns);
      CHECK(std::equal(part.items.rbegin(), part.items.rend(), whole.items.rbegin()));
      CHECK(leaked(part.items) == leaked(whole.items));
    }
    CHECK(read_events(bytes, UINT64_MAX).checkpoints == whole.checkpoints);
  }
}

TEST_CASE("events before a checkpoint in the instant that reading begins with are read") {
  Event event = allocations(1, 1).front();
  event.time_ns = 0;
  const std::vector<Item> items{event, Checkpoint{.time_ns = 0, .blocks = {}}};
  CHECK(read_events(recorded_items(items, 1'000'000)).items == items);
}

TEST_CASE("a file that ends anywhere gives the events before") {
  const MadeUpEvents made({.seed = 4, .calls = 60});
  const std::string bytes = recorded_items(made.items, made.end_ns, false);
  size_t most = 0;
  const size_t step = bytes.size() / scaled(bytes.size());
  for (size_t size = bytes.size() % step; size <= bytes.size(); size += step) {
    try {
      const ReadEvents read = read_events(bytes.substr(0, size));
      std::vector<Item> items = read.items;
      // The blocks of a checkpoint may be cut off.
      if (!items.empty() && std::holds_alternative<Checkpoint>(items.back())) items.pop_back();
      REQUIRE(is_prefix(items, made.items));
      CHECK_FALSE(read.end.is_whole);
      CHECK(read.end.note.empty());
      CHECK(has_note(read.history, "it was not finished"));
      CHECK(read.end.time_ns <= made.end_ns);
      most = std::max(most, items.size());
    } catch (const Error& error) {
      // Before the first look.
      REQUIRE(most == 0);
    }
  }
  CHECK(most + 1 >= made.items.size());
}

TEST_CASE("flipped bits are noticed") {
  const MadeUpEvents made({.seed = 8, .calls = 60});
  const std::string bytes = recorded_items(made.items, made.end_ns);
  const size_t step = bytes.size() / scaled(bytes.size());
  for (size_t i = 0; i < bytes.size(); i += step) {
    std::string flipped = bytes;
    flipped[i] = static_cast<char>(flipped[i] ^ (1 << (i % 8)));
    try {
      const ReadEvents read = read_events(flipped);
      REQUIRE(is_prefix(read.items, made.items));
      CHECK_FALSE(read.end.is_whole);
      CHECK(has_note(read.history, "it is damaged at byte "));
    } catch (const Error&) {
      continue;
    }
  }
}

TEST_CASE("content that cannot be ends the events, with its place") {
  const MadeUpEvents made({.seed = 8, .calls = 100, .gaps = false});
  const std::string bytes = recorded_items(made.items, made.end_ns);
  const auto chunks = chunks_of(bytes);
  // The second chunk of events comes twice; then it goes back in time.
  std::vector<std::pair<size_t, ChunkHead>> events;
  for (const auto& chunk : chunks)
    if (chunk.second.kind == static_cast<uint32_t>(ChunkKind::events)) events.push_back(chunk);
  REQUIRE(events.size() > 2);
  std::string changed = bytes.substr(0, recording_magic.size());
  uint16_t number = 0;
  size_t damaged_at = 0;
  for (const auto& [at, head] : chunks) {
    const std::string_view stored =
        std::string_view(bytes).substr(at + ChunkHead::size, head.stored_bytes);
    ChunkPacker::copy(head, stored, number++, changed);
    if (at != events[1].first) continue;
    damaged_at = changed.size();
    ChunkPacker::copy(head, stored, number++, changed);
  }
  const ReadEvents read = read_events(changed);
  CHECK(is_prefix(read.items, made.items));
  CHECK_FALSE(read.items.empty());
  CHECK(read.items.size() < made.items.size());
  CHECK_FALSE(read.end.is_whole);
  CHECK(read.end.note.find("the recording is damaged at byte " +
                           with_commas(static_cast<int64_t>(damaged_at)) +
                           " (it goes back in time)") != std::string::npos);
  CHECK(read.history.is_complete);  // the looks are as they were
}

TEST_CASE("a full disk keeps events for the next try") {
  const RecordingFile file;
  bool is_full = false;
  auto disk = std::make_unique<FullDisk>(file.path(), is_full);
  const FullDisk& applied = *disk;
  History history = history_of_events();
  HistoryWriter writer(std::move(disk), history.recording.meta, history.recording.types, 0, {});
  writer.add(history, history.looks.front());
  const std::vector<Event> events = allocations(1, 300);
  const auto part = [&](size_t i) { return std::span(events).subspan(100 * i, 100); };
  writer.add_events(history, part(0));
  CHECK(writer.waiting() == 0);
  is_full = true;
  applied.apply();
  CHECK_THROWS_AS(writer.add_events(history, part(1)), Error);
  CHECK(writer.waiting() > 0);
  CHECK_THROWS_AS(
      writer.add_gap({.from_ns = part(1).back().time_ns, .until_ns = 200'000'000, .events = 0}),
      Error);
  CHECK_THROWS_AS(writer.add_checkpoint(history, 200'500'000, {}), Error);
  CHECK(read_events(file.bytes()).items.size() == 100);
  is_full = false;
  applied.apply();
  writer.add_events(history, part(2));
  CHECK(writer.waiting() == 0);
  const ReadEvents read = read_events(file.bytes());
  REQUIRE(read.items.size() == 302);
  CHECK(read.end.events == 300);
  CHECK(std::get<Event>(read.items.back()) == events.back());
}

TEST_CASE("events end where they would exceed the limit, and looks go on") {
  constexpr uint64_t most = 60'000;
  const RecordingFile file;
  History history = history_of_events();
  HistoryWriter writer = writer_of(file.path(), history, {.max_bytes = most});
  history.tracks.push_back({.stack = RawStackId{1}, .space = SpaceId{1}, .group = ""});
  std::vector<Item> items;
  uint64_t known_until_ns = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    Look& look = history.looks.emplace_back();
    look.time_ns = (i + 1) * 500'000'000;
    look.rows.add(TrackId{1}, std::vector<int64_t>{static_cast<int64_t>(i * i * 7919), 1});
    writer.add(history, look);
    const std::vector<Event> events = allocations(500 * (i + 1), 500);
    const bool had_room = writer.takes_events();
    writer.add_events(history, events);
    if (writer.takes_events()) {
      items.insert(items.end(), events.begin(), events.end());
      known_until_ns = events.back().time_ns;
    }
    CHECK((had_room || !writer.takes_events()));
    CHECK(writer.bytes() <= most);
  }
  CHECK_FALSE(writer.takes_events());
  writer.finish(history);
  const std::string bytes = file.bytes();
  CHECK(bytes.size() <= most);
  const ReadEvents read = read_events(bytes);
  CHECK(items.size() > 1000);
  CHECK(read.items == items);
  CHECK_FALSE(read.end.is_whole);
  CHECK(read.end.time_ns == known_until_ns);
  CHECK(read.history.gaps.back().until_ns == EventGap::no_end);
  CHECK(has_note(read.history, "its events end after "));
  CHECK(read.history.looks.back().time_ns == history.looks.back().time_ns);
  CHECK(figures_of(read.history) == figures_of(history));
}
