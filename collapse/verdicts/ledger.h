// SPDX-License-Identifier: BSD-2-Clause
// Looks at a run -> which stacks leak. The idea: a leak is not memory that grows but blocks that
// outlive all others from their stack. Each survey says how many blocks of each stretch of birth
// times still live. From its fall between surveys follow the lengths of lives that have ended;
// survivors that are much older than those, and come from all parts of the run, leak. judge.h has
// the rules. Cost: add() is linear in the rows and in the stored births; memory is bounded for runs
// of any length (track_record.h).
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "collapse/verdicts/stretches.h"
#include "collapse/verdicts/track_record.h"
#include "collapse/verdicts/verdict.h"
#include "core/history.h"

namespace memflame {

class Ledger {
 public:
  // The columns of the rows. Throws Error if they are not those of blocks.
  explicit Ledger(std::span<const ValueType> types);

  // In the order of time. `tracks` may have grown since the look before. Throws Error if the look
  // does not fit them, or is earlier than the one before.
  void add(const Look& look, std::span<const Track> tracks);
  void end(uint64_t time_ns);  // the run is over
  // These tracks, of processes that have ended, belong to other stacks from now on.
  void forget(std::span<const TrackId> tracks);

  // One per track that ever had a block, the most wrong first.
  std::vector<Verdict> verdicts(const VerdictOptions& options) const;
  // None if the track never had a block.
  std::optional<Verdict> verdict(TrackId track, const VerdictOptions& options) const;
  // Judges several tracks as one: a named stack in several processes. What ended processes left
  // makes a leak, whatever the others do.
  std::optional<Verdict> verdict(std::span<const TrackId> tracks,
                                 const VerdictOptions& options) const;
  // All blocks that were allocated, in all tracks, as of the latest look.
  int64_t total_blocks() const { return total_blocks_; }
  // As of the latest row; 0 if the track never had a block.
  int64_t live_bytes(TrackId track) const {
    return track.index < records_.size() ? records_[track.index].live_bytes : 0;
  }

 private:
  // What lives of one track and stretch, by a survey.
  struct Alive {
    int64_t bytes = 0, blocks = 0;
    uint64_t samples = 0;
  };
  void start_bin(uint64_t time_ns);
  void end_space(SpaceId space);
  void add_row(const Look::Row& row, uint64_t time_ns);
  void add_to_ended(const Look::Row& row);
  void add_survey(const Look& look, std::span<const SpaceId> ended);
  void survey_track(TrackRecord& record, std::span<const Look::Cell> cells, bool is_ending);
  Births& births_of(TrackRecord& record, uint32_t stretch) const;
  void settle(TrackRecord& record, uint64_t time_ns) const;
  TrackRecord joined(TrackId track) const;  // with the stretches of the latest survey
  std::optional<Verdict> judged(const TrackRecord& record, const VerdictOptions& options) const;

  BlockColumns columns_;
  size_t width_ = 0;
  size_t count_variance_ = no_column;  // of live_count
  std::vector<TrackRecord> records_;   // by TrackId::index
  // The places of the records of each living process. Processes that come and go all the time
  // must not cost a walk over all records each.
  std::map<SpaceId, std::vector<uint32_t>> tracks_of_;
  Stretches stretches_;
  std::vector<Alive> alive_;    // by stretch, of the track that is being surveyed
  std::vector<uint64_t> bins_;  // the end of each bin of the points
  uint64_t looks_ = 0, looks_per_bin_ = 1;
  uint64_t now_ns_ = 0;
  int64_t total_blocks_ = 0;
  int64_t forgotten_blocks_ = 0;  // part of them until the next look
  bool is_over_ = false;
};

// All looks of a history until a time; at its end if it was finished by then.
Ledger ledger_of(const History& history, uint64_t until_ns = UINT64_MAX);

}  // namespace memflame
