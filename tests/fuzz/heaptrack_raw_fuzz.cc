// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer for raw files of heaptrack and for recordings of bytehound, packed or not. What is
// recorded of them is read again: it must be whole, and its events, looks and surveys must say the
// same.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "collapse/events/block_fold.h"
#include "collapse/history/event_file.h"
#include "collapse/history/reader.h"
#include "collapse/inputs/heap/bytehound.h"
#include "collapse/inputs/heap/heaptrack_raw.h"
#include "core/error.h"

namespace memflame {
namespace {

void require_that(bool condition, const char* what) {
  if (condition) return;
  std::cerr << "heaptrack_raw_fuzz: " << what << "\n";
  std::abort();
}

class MemoryFile : public HistoryFile {
 public:
  explicit MemoryFile(int fd) : fd_(fd) {}
  const std::string& name() const override { return name_; }
  int create() override { return fd_; }
  int create_copy() override { throw Error("there is no limit"); }
  void replace() override {}
  void discard_copy() noexcept override {}

 private:
  int fd_;
  std::string name_ = "memory";
};

std::string recording_of(Source& source) {
  const int fd = ::memfd_create("recording", MFD_CLOEXEC);
  const SharedFd file(fd);
  if (is_bytehound(source.head()))
    record_bytehound(source, std::make_unique<MemoryFile>(fd), {.files = false});
  else
    record_heaptrack(source, std::make_unique<MemoryFile>(fd), {.files = false});
  std::string bytes(static_cast<size_t>(::lseek(fd, 0, SEEK_END)), '\0');
  require_that(::pread(fd, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
               "the recording cannot be read");
  return bytes;
}

struct Sums {
  int64_t bytes = 0, blocks = 0;
  friend bool operator==(const Sums&, const Sums&) = default;
};

// What lives at the end by the looks.
Sums live_by_looks(const History& history) {
  std::vector<Sums> tracks(history.tracks.size());
  for (const Look& look : history.looks)
    for (const Look::Row& row : look.rows) tracks[row.track.index] = {row.values[0], row.values[1]};
  Sums all;
  for (const Sums& track : tracks) {
    static_cast<void>(__builtin_add_overflow(all.bytes, track.bytes, &all.bytes));
    all.blocks += track.blocks;
  }
  return all;
}

Sums live_by_survey(const History& history) {
  Sums all;
  for (const Look::Cell& cell : history.looks.back().cells) {
    static_cast<void>(__builtin_add_overflow(all.bytes, cell.bytes, &all.bytes));
    all.blocks += cell.blocks;
  }
  return all;
}

}  // namespace
}  // namespace memflame

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace memflame;  // NOLINT(google-build-using-namespace)
  Source source = Source::of_memory({reinterpret_cast<const char*>(data), size});
  std::string bytes;
  try {
    bytes = recording_of(source);
  } catch (const Error&) {
    return 0;
  }
  Source recording = Source::of_memory(bytes);
  RecordingState state;
  const History history = read_history(recording, state);
  require_that(history.is_complete && !state.is_damaged, "the recording is not whole");
  const EventFile file([&] { return Source::of_memory(bytes); }, history, state);
  Sums live;
  BlockFold fold(history, [&](const Block& block, const Chain&) {
    if (!block.leaked()) return;
    static_cast<void>(
        __builtin_add_overflow(live.bytes, static_cast<int64_t>(block.size), &live.bytes));
    ++live.blocks;
  });
  const EventsEnd end = file.read(fold);
  require_that(end.is_whole && end.note.empty(), "the events are not whole");
  fold.finish(end.time_ns);
  require_that(fold.counts().contradictions + fold.counts().differences() == 0,
               "the events contradict each other");
  require_that(fold.counts().frees_of_unknown == 0, "a free of no block");
  require_that(live == live_by_looks(history), "looks and events differ");
  require_that(live == live_by_survey(history), "the survey and events differ");
  return 0;
}
