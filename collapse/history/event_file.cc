// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/history/event_file.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "collapse/chunks/chunks.h"
#include "collapse/events/event_codec.h"
#include "collapse/history/read_ahead.h"
#include "collapse/history/seconds_text.h"
#include "core/error.h"
#include "core/units.h"

namespace memflame {

// The chunks of the file, as far as read_history() has read them.
class EventFile::Chunks {
 public:
  struct Stored {
    ChunkHead head;
    std::string_view bytes;  // until the next call
    Place place;
  };

  Chunks(const Open& open, uint64_t bytes) : source_(open()), file_(source_), end_(bytes) {
    skip({.byte = recording_magic.size(), .chunks = 0});
  }

  void skip(const Place& to) {
    constexpr uint64_t at_once = uint64_t{1} << 20U;
    while (place_.byte < to.byte)
      static_cast<void>(take(static_cast<size_t>(std::min(at_once, to.byte - place_.byte))));
    place_.chunks = to.chunks;
  }

  // None at the end.
  std::optional<Stored> next() {
    if (place_.byte >= end_) return std::nullopt;
    const Place place = place_;
    const std::optional<ChunkHead> head = ChunkHead::read(take(ChunkHead::size));
    if (!head || head->number != static_cast<uint16_t>(place.chunks)) has_changed();
    ++place_.chunks;
    return Stored{.head = *head, .bytes = take(head->stored_bytes), .place = place};
  }

 private:
  std::string_view take(size_t size) {
    const std::string_view bytes = file_.next(size);
    if (bytes.size() < size) has_changed();
    place_.byte += size;
    return bytes;
  }
  [[noreturn]] void has_changed() const {
    source_.fail("it has changed while it was read; read it again");
  }

  Source source_;
  ReadAhead file_;
  uint64_t end_;
  Place place_;
};

// One reading.
class EventFile::Pass {
 public:
  Pass(const EventFile& file, EventSink& sink, const Place& from)
      : sink_(sink),
        chunks_(file.open_, file.state_.bytes),
        limits_{.threads = file.history_.threads.size(),
                .stacks = file.history_.recording.stacks.size(),
                .spaces = file.history_.recording.spaces.size()} {
    chunks_.skip(from);
  }

  EventsEnd run(const History& history) {
    bool goes_on = true;
    while (goes_on)
      if (const std::optional<Chunks::Stored> chunk = chunks_.next())
        goes_on = !is_of_events(static_cast<ChunkKind>(chunk->head.kind)) || take(*chunk);
      else
        break;
    end_.time_ns = last_ns_;
    end_.is_whole = goes_on && history.is_complete;
    if (end_.is_whole && !history.looks.empty())
      end_.time_ns = std::max(last_ns_, history.looks.back().time_ns);
    if (!damage_.empty())
      end_.note = "the events end after " + seconds_text(last_ns_) + ": " + damage_;
    return std::move(end_);
  }

 private:
  // What a chunk holds.
  struct Content {
    std::span<const Event> events;
    std::vector<EventGap> gaps;
    std::optional<CheckpointPart> part;
  };

  // False if nothing more is to be read.
  bool take(const Chunks::Stored& chunk) {
    Content content;
    try {
      content = decoded(chunk);
    } catch (const DamagedChunk& error) {
      damage_ = "the recording is damaged at byte " +
                with_commas(static_cast<int64_t>(chunk.place.byte)) + " (" + error.what() +
                "), and what follows is left out";
      return false;
    }
    if (!content.events.empty()) sink_.events(content.events);
    end_.events += content.events.size();
    if (content.part) sink_.checkpoint(*content.part);
    for (const EventGap& gap : content.gaps) {
      if (gap.until_ns == EventGap::no_end) return false;
      sink_.gap(gap);
    }
    return true;
  }

  Content decoded(const Chunks::Stored& chunk) {
    ByteReader in(unpacker_.unpack(chunk.head, chunk.bytes));
    Content content;
    const auto kind = static_cast<ChunkKind>(chunk.head.kind);
    if (kind == ChunkKind::live_blocks) {
      content.part = live_blocks(in);
      return content;
    }
    if (checkpoint_.chunks != 0) throw DamagedChunk("a checkpoint before it is not whole");
    if (kind == ChunkKind::culled) {
      CulledBlocks again;
      decode_culled(in, limits_.stacks, again);
    } else if (kind == ChunkKind::events) {
      content.events = decoder_.events(in, limits_);
      if (content.events.empty()) return content;
      go_on(content.events.front().time_ns);
      last_ns_ = content.events.back().time_ns;
    } else if (kind == ChunkKind::gaps) {
      MemoryBudget budget;
      decode_gaps(in, budget, content.gaps);
      for (const EventGap& gap : content.gaps)
        go_on(gap.until_ns != EventGap::no_end ? gap.until_ns : gap.from_ns);
    } else {
      checkpoint_ = decode_checkpoint(in);
      go_on(checkpoint_.time_ns);
      is_first_ = true;
      if (checkpoint_.chunks == 0) content.part = part_of({});
    }
    return content;
  }

  CheckpointPart live_blocks(ByteReader& in) {
    if (checkpoint_.chunks == 0) throw DamagedChunk("no checkpoint begins before it");
    const std::span<const LiveBlock> blocks = decoder_.blocks(in, limits_);
    --checkpoint_.chunks;
    // They are in the order of time.
    if (!blocks.empty() && blocks.back().allocated_ns > checkpoint_.time_ns)
      throw DamagedChunk("it has a block from after its time");
    if (blocks.size() > checkpoint_.blocks ||
        (checkpoint_.chunks == 0 && blocks.size() != checkpoint_.blocks))
      throw DamagedChunk("it has another number of blocks than its checkpoint");
    checkpoint_.blocks -= blocks.size();
    return part_of(blocks);
  }

  CheckpointPart part_of(std::span<const LiveBlock> blocks) {
    return {.time_ns = checkpoint_.time_ns,
            .is_first = std::exchange(is_first_, false),
            .is_last = checkpoint_.chunks == 0,
            .blocks = blocks};
  }

  void go_on(uint64_t time_ns) {
    if (time_ns < last_ns_) throw DamagedChunk("it goes back in time");
    last_ns_ = time_ns;
  }

  EventSink& sink_;
  Chunks chunks_;
  EventLimits limits_;
  ChunkUnpacker unpacker_;
  EventDecoder decoder_;
  CheckpointHead checkpoint_;  // what is still to come of it
  bool is_first_ = false;
  uint64_t last_ns_ = 0;
  std::string damage_;
  EventsEnd end_;
};

EventFile::EventFile(Open open, const History& history, const RecordingState& state)
    : open_(std::move(open)), history_(history), state_(state) {
  Chunks chunks(open_, state_.bytes);
  ChunkUnpacker unpacker;
  std::optional<Checkpoint> begun;
  uint64_t missing = 0;  // chunks of it
  while (const std::optional<Chunks::Stored> chunk = chunks.next()) {
    const auto kind = static_cast<ChunkKind>(chunk->head.kind);
    has_events_ = has_events_ || is_of_events(kind);
    if (kind == ChunkKind::live_blocks && missing != 0) {
      --missing;
    } else {
      begun.reset();
    }
    if (kind == ChunkKind::checkpoints || kind == ChunkKind::culled) try {
        ByteReader in(unpacker.unpack(chunk->head, chunk->bytes));
        if (kind == ChunkKind::culled) {
          decode_culled(in, history_.recording.stacks.size(), culled_);
          continue;
        }
        const CheckpointHead head = decode_checkpoint(in);
        begun = {.time_ns = head.time_ns, .place = chunk->place};
        missing = head.chunks;
      } catch (const DamagedChunk&) {
        break;  // read() says so
      }
    if (begun && missing == 0) checkpoints_.push_back(*std::exchange(begun, std::nullopt));
  }
}

std::vector<uint64_t> EventFile::checkpoints() const {
  std::vector<uint64_t> times;
  for (const Checkpoint& checkpoint : checkpoints_) times.push_back(checkpoint.time_ns);
  return times;
}

EventsEnd EventFile::read(EventSink& sink, uint64_t from_ns) const {
  Place from{.byte = recording_magic.size(), .chunks = 0};
  for (const Checkpoint& checkpoint : checkpoints_)
    if (checkpoint.time_ns < from_ns) from = checkpoint.place;
  return Pass(*this, sink, from).run(history_);
}

}  // namespace memflame
