// SPDX-License-Identifier: BSD-2-Clause
// Writes a recording while the run goes on.
//
// Chunks are only appended, each in one write, so the file can be read at any time and survives the
// end of memflame at any place. When it would exceed its limit it is rewritten next to itself with
// fewer looks (thin.h) and then renamed. A look costs time and bytes for what is new and for the
// tracks that changed.
//
// Events may take a part of the limit only. Once they have taken it they end there, and the looks
// go on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collapse/chunks/chunks.h"
#include "collapse/events/event_codec.h"
#include "collapse/events/event_culler.h"
#include "collapse/history/file.h"
#include "collapse/history/look_codec.h"
#include "collapse/history/table_codec.h"
#include "core/history.h"

namespace memflame {

struct HistoryLimits {
  uint64_t max_bytes = 0;  // 0 = none
};

// A write that fails throws Error, and leaves the file as it was. What could not be written is
// kept, and is written by the next call if that succeeds.
class HistoryWriter {
 public:
  HistoryWriter(std::unique_ptr<HistoryFile> file, const Meta& meta,
                std::span<const ValueType> types, size_t shown, std::span<const Gauge> gauges,
                HistoryLimits limits = {}, EventOptions events = {});

  // Adds a look; what is new in the tables of `so_far` is written first. Its tables of the calls
  // before must be a prefix of these, but modules, spaces and mappings may have changed, and what
  // has left may have made room for others.
  void add(const History& so_far, const Look& look);
  // What leaves after all that was added: its figures are zero from the next look on.
  void leave(const History& so_far, const Leaving& leaving);
  void mark(const Mark& mark);

  // Add events, in the order of time; what is new in the tables of `so_far` is written first, as
  // for looks. Any number of events, but full chunks (events_of_a_chunk) take the fewest bytes. A
  // gap is followed by a checkpoint at its end, whose blocks may have any order. All three do
  // nothing once takes_events() is false. With EventOptions::cull_ns, events are written that much
  // later, or before a gap or checkpoint.
  void add_events(const History& so_far, std::span<const Event> events);
  void add_gap(const EventGap& gap);
  void add_checkpoint(const History& so_far, uint64_t time_ns, std::span<const LiveBlock> blocks);
  // False once events have taken their part of the limit. The file says so, with a gap that has no
  // end.
  bool takes_events() const { return takes_events_; }
  // Bytes that wait to be written, after writes have failed. Who adds events opens a gap instead of
  // adding more once these are many.
  size_t waiting() const { return pending_.size(); }

  // Ends the file. `run` is symbolized and has its meta and losses. Names are left out, with a
  // note, if they do not fit.
  void finish(const History& run);

  uint64_t bytes() const { return size_ + pending_.size(); }

 private:
  void append(std::span<const Chunk> chunks);
  void add_in_file(std::span<const Event> events);
  void write_events(std::span<const Event> events);
  void write_held_events();
  void append_culled();
  void add_of_events(std::span<const Chunk> chunks, uint64_t first_ns, uint64_t last_ns);
  uint64_t packed_size(std::span<const Chunk> chunks);
  bool makes_room(uint64_t more);
  [[noreturn]] void refuse_stacks() const;
  bool compact(uint64_t target);
  void flush();

  std::unique_ptr<HistoryFile> file_;
  const HistoryLimits limits_;
  const size_t columns_, gauges_;
  int fd_ = -1;
  uint64_t size_ = 0;    // written; all of it whole chunks
  std::string pending_;  // whole chunks that are not written yet
  uint16_t chunks_ = 0;  // wraps, like ChunkHead::number
  size_t looks_ = 0;
  uint64_t last_ns_ = 0;  // of the last look that was written
  ChunkPacker packer_;
  TableWriter tables_;
  LookEncoder encoder_;
  std::vector<TrackId> left_;  // tracks of the file, until the next look
  EventEncoder events_;
  std::optional<EventCuller> culler_;  // with EventOptions::cull_ns
  uint64_t look_bytes_ = 0;
  bool takes_events_ = true;
  uint64_t events_until_ns_ = 0;  // they are known until then
};

}  // namespace memflame
