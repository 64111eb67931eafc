// SPDX-License-Identifier: BSD-2-Clause
// Reads the events of a recording, as often as it is asked to. Memory does not depend on how many
// there are: chunks are handed on one by one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "collapse/events/culled.h"
#include "collapse/events/event_sink.h"
#include "collapse/history/reader.h"
#include "collapse/source/source.h"
#include "core/history.h"

namespace memflame {

// How reading ended.
struct EventsEnd {
  // All events until then are known; 0 if there are none. It is the end of the recording, unless
  // that was not finished, its events had reached the limit of the file, or they are damaged.
  uint64_t time_ns = 0;
  bool is_whole = false;  // time_ns is the end of the recording
  uint64_t events = 0;    // that were handed on
  // What is damaged; empty if nothing is. All else that is missing is in the notes of the history.
  std::string note;
};

class EventFile {
 public:
  // Opens the file at its beginning; called for each reading.
  using Open = std::function<Source()>;

  // `history` and `state` are what read_history() made of this file, and outlive this object: ids
  // in events are those of its tables, and what it did not read is not read here. Reads the heads
  // of all chunks once. Throws Error if the file cannot be read.
  EventFile(Open open, const History& history, const RecordingState& state);

  // False: the recording has looks only.
  bool has_events() const { return has_events_; }
  // When they were taken, in the order of the file. Those that the file does not hold whole are not
  // among them.
  std::vector<uint64_t> checkpoints() const;
  // Blocks that are not among the events, as they lived too short (memflame record --cull).
  const CulledBlocks& culled() const { return culled_; }

  // Hands all events, gaps and checkpoints to `sink`, in the order of the file; a gap without an
  // end is not handed on, but ends it. With `from_ns` it begins with the last checkpoint before
  // that time, or at the beginning if there is none: events of the checkpoint's own instant may
  // stand before it. A damaged chunk ends it, too, before anything of that chunk is handed on; so a
  // checkpoint may lack its last part. Throws Error only if the file cannot be read, and what
  // `sink` throws.
  EventsEnd read(EventSink& sink, uint64_t from_ns = 0) const;

 private:
  // A chunk's place in the file.
  struct Place {
    uint64_t byte = 0;
    uint64_t chunks = 0;  // before it
  };
  struct Checkpoint {
    uint64_t time_ns = 0;
    Place place;
  };
  class Chunks;
  class Pass;

  Open open_;
  const History& history_;
  const RecordingState& state_;
  std::vector<Checkpoint> checkpoints_;
  CulledBlocks culled_;
  bool has_events_ = false;
};

}  // namespace memflame
