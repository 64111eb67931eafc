// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/history/reader.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "collapse/chunks/chunks.h"
#include "collapse/events/event_codec.h"
#include "collapse/history/look_codec.h"
#include "collapse/history/name_codec.h"
#include "collapse/history/read_ahead.h"
#include "collapse/history/run_codec.h"
#include "collapse/history/seconds_text.h"
#include "collapse/history/table_codec.h"
#include "collapse/history/thin.h"
#include "core/error.h"
#include "core/units.h"

namespace memflame {
namespace {

class HistoryReader {
 public:
  HistoryReader(Source& source, RecordingState& state, const HistoryReadLimits& limits)
      : source_(source),
        file_(source),
        state_(state),
        limits_(limits),
        texts_(budget_),
        tables_(history_, texts_, budget_),
        names_(history_.recording, texts_, budget_) {}

  History run() {
    if (file_.next(recording_magic.size()) != recording_magic)
      source_.fail("it is not a recording of memflame");
    while (!ended_ && take_chunk()) {
    }
    finish();
    return std::move(history_);
  }

 private:
  // False at the end of the file.
  bool take_chunk() {
    const std::string_view head_bytes = file_.next(ChunkHead::size);
    const size_t got = head_bytes.size();
    if (got == 0) return false;
    if (got < ChunkHead::size) return cut(got);
    const std::optional<ChunkHead> head = ChunkHead::read(head_bytes);
    if (!head || head->number != static_cast<uint16_t>(chunks_)) {
      damage_ = head ? "a chunk before it is missing" : "its head cannot be";
      return false;
    }
    const std::string_view stored = file_.next(head->stored_bytes);
    if (stored.size() < head->stored_bytes) return cut(got + stored.size());
    budget_.allow(got + stored.size());
    if (!are_names_reached_ && is_behind_figures(*head)) reach_names();
    ++chunks_;
    try {
      take(*head, stored);
    } catch (const DamagedChunk& error) {
      damage_ = error.what();
      return false;
    }
    place_ += got + stored.size();
    return true;
  }

  static bool is_behind_figures(const ChunkHead& head) {
    switch (static_cast<ChunkKind>(head.kind)) {
      case ChunkKind::symbols:
      case ChunkKind::locations:
      case ChunkKind::named_nodes:
      case ChunkKind::named_stacks:
      case ChunkKind::end:
        return true;
      default:
        return false;
    }
  }

  void reach_names() {
    state_.names = {.byte = place_, .chunks = chunks_, .texts = texts_.size()};
    are_names_reached_ = true;
  }

  bool cut(size_t bytes) {
    cut_bytes_ = bytes;
    return false;
  }

  void take(const ChunkHead& head, std::string_view stored) {
    if (!head.is_known()) {
      ++unknown_;
      return;
    }
    if (head.version > ChunkHead::newest_version)
      source_.fail("it was written by a later version of memflame: use that one to read it");
    const auto kind = static_cast<ChunkKind>(head.kind);
    // These are for collapse/history/event_file.h.
    if (is_of_events(kind) && kind != ChunkKind::gaps) {
      state_.has_events = true;
      return ChunkUnpacker::check(head, stored);
    }
    const std::string_view content = unpacker_.unpack(head, stored);
    ByteReader in(content);
    if (kind == ChunkKind::run) return take_head(in);
    if (!looks_) throw DamagedChunk("it does not begin with what was watched");
    if (kind == ChunkKind::looks) return take_looks(in);
    if (kind == ChunkKind::marks) return decode_marks(in, budget_, history_.marks);
    if (kind == ChunkKind::gaps) return decode_gaps(in, budget_, history_.gaps);
    if (kind == ChunkKind::end) {
      decode_end(in, budget_, history_.recording);
      state_.end = history_.recording.meta;
      state_.end_losses = history_.recording.losses;
      ended_ = true;
      return;
    }
    static_cast<void>(tables_.take(kind, in) || names_.take(kind, in));
  }

  void take_head(ByteReader& in) {
    if (looks_) throw DamagedChunk("it begins twice");
    RunHead head = decode_head(in, budget_);
    history_.recording.meta = std::move(head.meta);
    history_.recording.types = std::move(head.types);
    history_.recording.shown = head.shown;
    history_.gauges = std::move(head.gauges);
    state_.is_this_boot = !head.boot.empty() && head.boot == this_boot();
    looks_.emplace(history_.recording.types.size(), history_.gauges.size());
  }

  void take_looks(ByteReader& in) {
    const size_t before = history_.looks.size();
    looks_->decode(in,
                   {.tracks = history_.tracks.size(), .spaces = history_.recording.spaces.size()},
                   budget_, history_.looks);
    for (size_t i = before; i < history_.looks.size(); ++i) {
      look_bytes_ += memory_of(history_.looks[i]);
      survey_bytes_ += history_.looks[i].cells.size() * sizeof(Look::Cell);
    }
    if (survey_bytes_ > limits_.survey_bytes) drop_surveys();
    if (look_bytes_ > limits_.look_bytes) thin();
  }

  // Leaves out every second survey, but not the last one.
  void drop_surveys() {
    size_t kept = 0;
    bool drop = false;
    for (auto look = history_.looks.rbegin(); look != history_.looks.rend(); ++look) {
      if (!look->is_survey()) continue;
      const uint64_t bytes = look->cells.size() * sizeof(Look::Cell);
      if (drop) {
        look->stretches = {};
        look->cells = {};
        survey_bytes_ -= bytes;
        look_bytes_ -= std::min(look_bytes_, bytes);
        ++dropped_surveys_;
      } else {
        ++kept;
      }
      drop = !drop;
    }
    if (kept <= 1) survey_bytes_ = 0;  // one survey is never too large
  }

  void thin() {
    constexpr int most_rounds = 4;
    const uint64_t before = look_bytes_;
    for (int i = 0; i < most_rounds && look_bytes_ > limits_.look_bytes / 4 * 3; ++i) halve();
    // Looks whose rows are all of different tracks hardly get smaller.
    limits_.look_bytes = std::max(limits_.look_bytes, look_bytes_ + look_bytes_ / 4);
    budget_.give_back(before - std::min(before, look_bytes_));
  }

  // Thins the older half.
  void halve() {
    LookThinner thinner;
    std::vector<Look> looks;
    const size_t all = history_.looks.size();
    for (size_t i = 0; i < all; ++i)
      if (std::optional<Look> look = thinner.add(std::move(history_.looks[i]), 2 * i + 1 < all))
        looks.push_back(std::move(*look));
    history_.looks = std::move(looks);
    dropped_looks_ += all - history_.looks.size();
    look_bytes_ = survey_bytes_ = 0;
    for (const Look& look : history_.looks) {
      look_bytes_ += memory_of(look);
      survey_bytes_ += look.cells.size() * sizeof(Look::Cell);
    }
  }

  void finish() {
    if (!looks_ || history_.looks.empty()) source_.fail(why_empty());
    Recording& recording = history_.recording;
    history_.is_complete = ended_;
    state_.is_cut = !ended_;
    state_.is_damaged = !damage_.empty();
    state_.bytes = place_;
    names_.finish();
    state_.has_names = names_.is_complete();
    if (!are_names_reached_) reach_names();
    if (!state_.has_names) {
      recording.frames.clear();
      recording.locations.assign(1, Location{});
    }
    for (size_t i = 0; i < recording.spaces.size(); ++i)
      if (SpaceId& from = recording.spaces[i].forked_from; from.index >= recording.spaces.size())
        from = {};
    const uint64_t last_ns = history_.looks.back().time_ns;
    if (!ended_) recording.meta.seconds = static_cast<double>(last_ns) / 1e9;
    note_end(last_ns);
    note_left_out();
  }

  std::string why_empty() const {
    if (!damage_.empty()) return "it is damaged: " + damage_ + "; nothing before that can be shown";
    return "it ends before its first look: there is nothing to show";
  }

  void note(std::string text) { history_.recording.meta.notes.push_back(std::move(text)); }

  void note_end(uint64_t last_ns) {
    if (limits_.goes_on && !ended_ && damage_.empty()) return note("so far: the run continues");
    const std::string end = "the recording ends after " + seconds_text(last_ns);
    if (!damage_.empty()) {
      history_.recording.losses.add(Loss::input_line, 1);
      note(end + ": it is damaged at byte " + with_commas(static_cast<int64_t>(place_)) + " (" +
           damage_ + "), and what follows is left out");
    } else if (cut_bytes_ != 0) {
      note(end + ": it was not finished, and ends in the middle of a chunk, whose " +
           with_commas(static_cast<int64_t>(cut_bytes_)) + " bytes are left out");
    } else if (!ended_) {
      note(end + ": it was not finished");
    }
    // A run writes its losses when it ends.
    if (!ended_) note("what the run had lost until then is not known");
  }

  void note_left_out() {
    if (!history_.gaps.empty() && history_.gaps.back().until_ns == EventGap::no_end)
      note("its events end after " + seconds_text(history_.gaps.back().from_ns) +
           ": more would not have fit into the file's limit");
    if (unknown_ != 0) {
      history_.recording.losses.add(Loss::input_line, unknown_);
      note(with_commas(static_cast<int64_t>(unknown_)) +
           " chunks of kinds that this memflame does not know were left out");
    }
    if (dropped_looks_ != 0)
      note("the recording is large: " + with_commas(static_cast<int64_t>(dropped_looks_)) +
           " of its older looks were joined with later ones");
    if (dropped_surveys_ != 0)
      note("the recording is large: " + with_commas(static_cast<int64_t>(dropped_surveys_)) +
           " of its surveys of live blocks were left out");
  }

  Source& source_;  // for messages
  ReadAhead file_;
  RecordingState& state_;
  HistoryReadLimits limits_;
  History history_;
  MemoryBudget budget_;
  TextTableReader texts_;
  TableReader tables_;
  NameReader names_;
  ChunkUnpacker unpacker_;
  std::optional<LookDecoder> looks_;  // once the columns are known
  uint64_t chunks_ = 0, unknown_ = 0, place_ = recording_magic.size();
  uint64_t look_bytes_ = 0, survey_bytes_ = 0, dropped_looks_ = 0, dropped_surveys_ = 0;
  size_t cut_bytes_ = 0;
  std::string damage_;  // why the chunk at place_ cannot be used; "" = none
  bool ended_ = false, are_names_reached_ = false;
};

}  // namespace

bool is_history(std::string_view head) { return head.starts_with(recording_magic); }

History read_history(Source& source, RecordingState& state, const HistoryReadLimits& limits) {
  return HistoryReader(source, state, limits).run();
}

History read_history(Source& source) {
  RecordingState state;
  return read_history(source, state);
}

}  // namespace memflame
