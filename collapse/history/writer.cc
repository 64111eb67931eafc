// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/history/writer.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "collapse/history/name_codec.h"
#include "collapse/history/rewrite.h"
#include "collapse/history/run_codec.h"
#include "collapse/history/seconds_text.h"
#include "core/error.h"
#include "core/units.h"

namespace memflame {
namespace {

// Fewer looks than this are not halved again.
constexpr size_t fewest_looks = 8;
// After the file was made smaller there is room for looks again, at least this part of what stacks
// leave of the limit. With less, the file would be rewritten all the time.
constexpr double part_for_looks = 0.6;
constexpr uint64_t least_share = 16;  // of the limit that stacks must leave: 1 in 16
// Events end once they and the tables take this part of the limit, 1 in 2.
constexpr uint64_t part_for_events = 2;

bool leaves_no_room(uint64_t others, uint64_t target) {
  return others + target / least_share > target;
}

std::string content_of(const Look& look, LookEncoder& encoder) {
  if (look.cells.size() <= most_cells / 4) return encoder.encode({&look, 1});
  Look without_survey = look;
  without_survey.stretches.clear();
  without_survey.cells.clear();
  return encoder.encode({&without_survey, 1});
}

}  // namespace

HistoryWriter::HistoryWriter(std::unique_ptr<HistoryFile> file, const Meta& meta,
                             std::span<const ValueType> types, size_t shown,
                             std::span<const Gauge> gauges, HistoryLimits limits,
                             EventOptions events)
    : file_(std::move(file)),
      limits_(limits),
      columns_(types.size()),
      gauges_(gauges.size()),
      fd_(file_->create()),
      encoder_(columns_, gauges_),
      events_(events) {
  if (events.cull_ns != 0) culler_.emplace(events.cull_ns);
  pending_ = recording_magic;
  const Chunk head{.kind = ChunkKind::run,
                   .content = encode(RunHead{.meta = meta,
                                             .types = {types.begin(), types.end()},
                                             .shown = shown,
                                             .gauges = {gauges.begin(), gauges.end()},
                                             .boot = this_boot()})};
  append({&head, 1});
  flush();
}

void HistoryWriter::append(std::span<const Chunk> chunks) {
  for (const Chunk& chunk : chunks) packer_.pack(chunk, chunks_++, pending_);
}

void HistoryWriter::add(const History& so_far, const Look& look) {
  append(tables_.changes(so_far));
  append_culled();
  const bool is_same = tables_.tracks().are_places();
  const Chunk chunk{
      .kind = ChunkKind::looks,
      .content = content_of(
          is_same ? look : in_file(look, tables_.tracks(), std::exchange(left_, {}), columns_),
          encoder_)};
  const uint64_t before = bytes();
  append({&chunk, 1});
  look_bytes_ += bytes() - before;
  ++looks_;
  if (!makes_room(0)) refuse_stacks();
  flush();
  last_ns_ = look.time_ns;
}

void HistoryWriter::leave(const History& so_far, const Leaving& leaving) {
  append(tables_.changes(so_far));
  for (const TrackId track : leaving.tracks)
    if (const TrackId written = tables_.tracks()[track]) left_.push_back(written);
  append(tables_.leave(leaving));
  encoder_.give_back_zeros();
  if (!makes_room(0)) refuse_stacks();
  flush();
}

void HistoryWriter::mark(const Mark& mark) {
  const Chunk chunk{.kind = ChunkKind::marks, .content = encode(mark)};
  append({&chunk, 1});
  if (!makes_room(0)) refuse_stacks();
  flush();
}

void HistoryWriter::add_events(const History& so_far, std::span<const Event> events) {
  if (!takes_events_ || events.empty()) return;
  append(tables_.changes(so_far));
  if (tables_.stacks().are_places()) return add_in_file(events);
  std::vector<Event> written(events.begin(), events.end());
  for (Event& event : written) event.stack = tables_.stacks()[event.stack];
  add_in_file(written);
}

void HistoryWriter::add_in_file(std::span<const Event> events) {
  if (!culler_) return write_events(events);
  culler_->add(events);
  write_events(culler_->take());
}

void HistoryWriter::write_events(std::span<const Event> events) {
  if (events.empty()) return;
  std::vector<Chunk> chunks;
  for (auto rest = events; !rest.empty();) {
    const auto part = rest.first(std::min(rest.size(), events_of_a_chunk));
    rest = rest.subspan(part.size());
    chunks.push_back({.kind = ChunkKind::events, .content = events_.events(part)});
  }
  add_of_events(chunks, events.front().time_ns, events.back().time_ns);
}

void HistoryWriter::write_held_events() {
  if (culler_ && takes_events_) write_events(culler_->take(true));
}

void HistoryWriter::append_culled() {
  if (!culler_) return;
  const CulledBlocks culled = culler_->take_culled();
  if (culled.stacks.empty()) return;
  const Chunk chunk{.kind = ChunkKind::culled, .content = encode(culled)};
  append({&chunk, 1});
}

void HistoryWriter::add_gap(const EventGap& gap) {
  write_held_events();
  if (!takes_events_) return;
  const Chunk chunk{.kind = ChunkKind::gaps, .content = events_.gap(gap)};
  // Some events of a gap may have come before it.
  const uint64_t time_ns = gap.until_ns == EventGap::no_end ? gap.from_ns : gap.until_ns;
  add_of_events({&chunk, 1}, time_ns, time_ns);
}

void HistoryWriter::add_checkpoint(const History& so_far, uint64_t time_ns,
                                   std::span<const LiveBlock> blocks) {
  append(tables_.changes(so_far));
  write_held_events();
  if (!takes_events_) return;
  std::vector<LiveBlock> written;  // only if they differ: there may be millions
  if (!tables_.stacks().are_places()) {
    written.assign(blocks.begin(), blocks.end());
    for (LiveBlock& block : written) block.stack = tables_.stacks()[block.stack];
    blocks = written;
  }
  const std::vector<Chunk> chunks = events_.checkpoint(time_ns, blocks);
  add_of_events(chunks, time_ns, time_ns);
}

void HistoryWriter::add_of_events(std::span<const Chunk> chunks, uint64_t first_ns,
                                  uint64_t last_ns) {
  if (first_ns < events_until_ns_) throw Error("internal: events are not in the order of time");
  const uint16_t chunks_before = chunks_;
  const size_t pending_before = pending_.size();
  append(chunks);
  if (limits_.max_bytes != 0 && bytes() - look_bytes_ > limits_.max_bytes / part_for_events) {
    pending_.resize(pending_before);
    chunks_ = chunks_before;
    takes_events_ = false;
    const EventGap rest{.from_ns = events_until_ns_, .until_ns = EventGap::no_end};
    const Chunk end{.kind = ChunkKind::gaps, .content = events_.gap(rest)};
    append({&end, 1});
  } else {
    events_until_ns_ = last_ns;
  }
  if (!makes_room(0)) refuse_stacks();
  flush();
}

void HistoryWriter::finish(const History& run) {
  append(tables_.changes(run));
  write_held_events();
  append_culled();
  std::vector<Chunk> last = name_chunks(run.recording, tables_.stacks().places(), tables_.texts());
  last.push_back(
      {.kind = ChunkKind::end, .content = encode_end(run.recording, run.recording.meta)});
  // Looks are not given up for names that take most of the room.
  const uint64_t most = limits_.max_bytes / 2, needed = packed_size(last);
  if (limits_.max_bytes != 0 && (needed > most || !makes_room(needed))) {
    Meta meta = run.recording.meta;
    meta.notes.push_back(std::string(names_left_out) + " to keep it below " +
                         iec_bytes(static_cast<int64_t>(limits_.max_bytes)));
    last.assign(1, {.kind = ChunkKind::end, .content = encode_end(run.recording, meta)});
    if (!makes_room(packed_size(last))) refuse_stacks();
  }
  append(last);
  flush();
  // Some file systems say only now that there is no room, or that the disk is broken. What cannot
  // be synchronized, such as a pipe, says EINVAL.
  if (::fdatasync(fd_) != 0 && errno != EINVAL)
    throw Error("cannot write all of " + file_->name() + " to disk: " + std::strerror(errno) +
                "; see what can be read of it, free space or record to another disk");
}

uint64_t HistoryWriter::packed_size(std::span<const Chunk> chunks) {
  std::string packed;
  for (const Chunk& chunk : chunks) packer_.pack(chunk, 0, packed);
  return packed.size();
}

void HistoryWriter::refuse_stacks() const {
  throw Error(file_->name() + ": the stacks" + (events_until_ns_ != 0 ? " and events" : "") +
              " of the run alone need more than " +
              iec_bytes(static_cast<int64_t>(limits_.max_bytes)) + "; what was recorded until " +
              seconds_text(last_ns_) + " is in it. Use a larger --max-file");
}

// Whether `more` bytes will fit, if need be after making the file smaller.
bool HistoryWriter::makes_room(uint64_t more) {
  if (limits_.max_bytes == 0 || bytes() + more <= limits_.max_bytes) return true;
  return more < limits_.max_bytes && compact(limits_.max_bytes - more);
}

// Rewrites the file until it is well below `target`. False if looks are not what fills it.
bool HistoryWriter::compact(uint64_t target) {
  size_t old_looks = 0;  // joining small chunks may be enough
  while (true) {
    Rewritten copy{.encoder = LookEncoder(columns_, gauges_)};
    try {
      const int to = file_->create_copy();
      copy = rewrite(fd_, size_, pending_, to, old_looks, LookEncoder(columns_, gauges_),
                     LookDecoder(columns_, gauges_));
      // The file stays as it is if fewer looks cannot help.
      const bool is_stuck =
          leaves_no_room(copy.bytes - copy.look_bytes, target) || copy.looks <= fewest_looks;
      if (copy.bytes > limits_.max_bytes && is_stuck) {
        file_->discard_copy();
        return false;
      }
      if (::fdatasync(to) != 0) throw Error("it cannot be written to disk");
      file_->replace();
      fd_ = to;
    } catch (const Error& error) {
      file_->discard_copy();
      throw Error("cannot make " + file_->name() + " smaller: " + error.what() +
                  "; what was recorded until " + seconds_text(last_ns_) +
                  " is in it. Free space on its disk, or use a larger --max-file");
    }
    size_ = copy.bytes;
    pending_.clear();
    chunks_ = copy.chunks;
    encoder_ = std::move(copy.encoder);
    const bool is_smaller = old_looks == 0 || copy.looks < looks_;
    looks_ = copy.looks;
    look_bytes_ = copy.look_bytes;
    const uint64_t others = size_ - copy.look_bytes;
    if (leaves_no_room(others, target)) return size_ <= target;
    const auto room = static_cast<uint64_t>(part_for_looks * static_cast<double>(target - others));
    if (copy.look_bytes <= room) return true;
    if (looks_ <= fewest_looks || !is_smaller) return size_ <= target;
    old_looks = looks_ / 2;
  }
}

void HistoryWriter::flush() {
  try {
    write_at(fd_, pending_, size_);
  } catch (const Error& error) {
    // If this fails, too, readers find half a chunk, and say so.
    const bool is_cut = ::ftruncate(fd_, static_cast<off_t>(size_)) == 0;
    throw Error("cannot write " + file_->name() + ": " + error.what() +
                "; what was recorded until " + seconds_text(last_ns_) + " is in it" +
                (is_cut ? "" : ", and half a chunk behind that") +
                ". Free space on its disk, or record to another one");
  }
  size_ += pending_.size();
  pending_.clear();
}

}  // namespace memflame
