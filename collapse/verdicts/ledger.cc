// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/verdicts/ledger.h"

#include <algorithm>
#include <utility>

#include "collapse/verdicts/judge.h"
#include "core/error.h"

namespace memflame {
namespace {

constexpr size_t most_bins = 128;

double seconds_between(uint64_t from_ns, uint64_t to_ns) {
  return to_ns <= from_ns ? 0 : static_cast<double>(to_ns - from_ns) / 1e9;
}

// True if the process has ended since the look before.
bool is_ending(const TrackRecord& record, std::span<const SpaceId> ended) {
  return record.exists && !record.ended_ns &&
         std::binary_search(ended.begin(), ended.end(), record.space);
}

// Each sample stands for c blocks, which adds c to the blocks and c (c - 1) to their variance.
double samples_of(const Look::Row& row, const BlockColumns& columns, size_t variance) {
  const auto blocks = static_cast<double>(std::max<int64_t>(row.values[columns.live_count], 0));
  if (variance >= row.values.size() || blocks == 0) return blocks;
  const auto spread = static_cast<double>(std::max<int64_t>(row.values[variance], 0));
  return blocks * blocks / (blocks + spread);
}

BlockColumns columns_of(std::span<const ValueType> types) {
  const std::optional<BlockColumns> columns = block_columns(types);
  if (!columns) throw Error("no verdicts: these figures do not follow blocks");
  return *columns;
}

}  // namespace

Ledger::Ledger(std::span<const ValueType> types)
    : columns_(columns_of(types)),
      width_(types.size()),
      count_variance_(types[columns_.live_count].variance) {}

void Ledger::start_bin(uint64_t time_ns) {
  if (looks_ / looks_per_bin_ == most_bins) {
    for (TrackRecord& record : records_) record.halve_bins();
    for (size_t i = 0; i < most_bins / 2; ++i) bins_[i] = bins_[2 * i + 1];
    bins_.resize(most_bins / 2);
    looks_per_bin_ *= 2;
  }
  const uint64_t bin = looks_++ / looks_per_bin_;
  if (bin == bins_.size()) bins_.push_back(time_ns);
  bins_.back() = time_ns;
}

void Ledger::add(const Look& look, std::span<const Track> tracks) {
  if (look.time_ns < now_ns_) throw Error("the looks of a history are not in the order of time");
  const uint64_t before_ns = now_ns_;
  if (records_.size() < tracks.size()) records_.resize(tracks.size());
  start_bin(look.time_ns);
  // They are in other rows from now on.
  total_blocks_ -= std::exchange(forgotten_blocks_, 0);
  for (const Look::Row& row : look.rows) {
    if (row.track.index >= records_.size() || row.values.size() != width_)
      throw Error("a row of a history does not fit its tracks and columns");
    TrackRecord& record = records_[row.track.index];
    if (!record.exists) {
      record.exists = true;
      record.space = tracks[row.track.index].space;
      record.first_ns = before_ns;
      tracks_of_[record.space].push_back(row.track.index);
    }
    add_row(row, look.time_ns);
  }
  now_ns_ = look.time_ns;
  std::vector<SpaceId> ended = look.ended;
  std::sort(ended.begin(), ended.end());
  if (look.is_survey()) add_survey(look, ended);
  for (const SpaceId space : ended) end_space(space);
}

void Ledger::end_space(SpaceId space) {
  const auto tracks = tracks_of_.find(space);
  if (tracks == tracks_of_.end()) return;
  for (const uint32_t index : tracks->second) {
    TrackRecord& record = records_[index];
    if (record.ended_ns) continue;
    settle(record, now_ns_);
    record.ended_ns = now_ns_;
  }
  tracks_of_.erase(tracks);
}

// What a process left stays as it was at its end, unless its figures go to a space that stands for
// several ended processes.
void Ledger::add_to_ended(const Look::Row& row) {
  TrackRecord& record = records_[row.track.index];
  const int64_t total_blocks = row.values[columns_.total_count];
  if (total_blocks == 0) {
    total_blocks_ -= record.total_blocks;
    record = {};
  }
  if (total_blocks <= record.total_blocks) return;
  total_blocks_ += total_blocks - record.total_blocks;
  const int64_t live_blocks = std::max<int64_t>(row.values[columns_.live_count], 0);
  const int64_t live_bytes = std::max<int64_t>(row.values[columns_.live], 0);
  if (!stretches_.begins().empty()) {
    Births& births = births_of(record, stretches_.last());
    births.blocks += total_blocks - record.total_blocks;
    births.bytes += std::max<int64_t>(row.values[columns_.total] - record.total_bytes, 0);
    births.live_blocks += std::max<int64_t>(live_blocks - record.live_blocks, 0);
    births.live_bytes += std::max<int64_t>(live_bytes - record.live_bytes, 0);
  }
  record.live_bytes = record.maximum_bytes = live_bytes;
  record.live_blocks = live_blocks;
  record.total_bytes = std::max(live_bytes, row.values[columns_.total]);
  record.total_blocks = total_blocks;
}

void Ledger::add_row(const Look::Row& row, uint64_t time_ns) {
  TrackRecord& record = records_[row.track.index];
  if (record.ended_ns) return add_to_ended(row);
  record.live_bytes = std::max<int64_t>(row.values[columns_.live], 0);
  record.live_blocks = std::max<int64_t>(row.values[columns_.live_count], 0);
  record.total_bytes = std::max(record.live_bytes, row.values[columns_.total]);
  const int64_t blocks_before = record.total_blocks;
  record.total_blocks = std::max(record.live_blocks, row.values[columns_.total_count]);
  total_blocks_ += record.total_blocks - blocks_before;
  if (record.total_blocks > blocks_before) record.allocated_ns = time_ns;
  if (columns_.is_collected) record.live_samples = samples_of(row, columns_, count_variance_);
  if (record.live_bytes > record.maximum_bytes) {
    record.maximum_bytes = record.live_bytes;
    record.maximum_ns = time_ns;
  }
  record.set_live(static_cast<uint32_t>(bins_.size() - 1));
}

void Ledger::add_survey(const Look& look, std::span<const SpaceId> ended) {
  stretches_.survey(look.stretches, look.time_ns);
  auto cell = look.cells.begin();
  for (uint32_t i = 0; i < records_.size(); ++i) {
    TrackRecord& record = records_[i];
    const auto first = cell;
    while (cell != look.cells.end() && cell->track.index == i) ++cell;
    if (!record.exists || record.ended_ns) continue;
    survey_track(record, std::span(first, cell), is_ending(record, ended));
  }
  if (cell != look.cells.end()) throw Error("the cells of a survey are not in the order of tracks");
}

Births& Ledger::births_of(TrackRecord& record, uint32_t stretch) const {
  const bool is_last = stretch == stretches_.last();
  Births like;
  like.stretch_ns = stretches_.begins()[stretch];
  like.to_ns = is_last ? stretches_.end_ns() : stretches_.begins()[stretch + 1];
  like.from_ns = std::min(std::max(stretches_.begins()[stretch], record.first_ns), like.to_ns);
  return record.births_of(like);
}

void Ledger::survey_track(TrackRecord& record, std::span<const Look::Cell> cells, bool is_ending) {
  const int64_t born_bytes = std::max<int64_t>(record.total_bytes - record.surveyed_bytes, 0);
  const int64_t born = std::max<int64_t>(record.total_blocks - record.surveyed_blocks, 0);
  if (born == 0 && cells.empty() && record.births.empty()) return;
  record.surveyed_bytes = record.total_bytes;
  record.surveyed_blocks = record.total_blocks;
  // Nothing that the births hold can change.
  if (born == 0 && cells.empty() && !record.has_live_births) return;
  record.join(stretches_.begins());
  record.has_live_births = true;
  int64_t counted = 0;
  alive_.assign(stretches_.begins().size(), {});
  for (const Look::Cell& cell : cells) {
    if (cell.stretch >= stretches_.surveyed())
      throw Error("a cell of a survey is in none of its stretches");
    Alive& sum = alive_[stretches_.place_of(cell.stretch)];
    sum.bytes += std::max<int64_t>(cell.bytes, 0);
    sum.blocks += std::max<int64_t>(cell.blocks, 0);
    sum.samples += cell.samples;
    counted += std::max<int64_t>(cell.blocks, 0);
    births_of(record, stretches_.place_of(cell.stretch));
  }
  if (born > 0) {
    Births& youngest = births_of(record, stretches_.last());
    youngest.bytes += born_bytes;
    youngest.blocks += born;
    youngest.live_bytes += born_bytes;
    youngest.live_blocks += born;
  }
  // The table may have lost the process before the survey; settle() does the rest.
  if (is_ending && counted < record.live_blocks) return;
  const double now_s = seconds_between(0, now_ns_);
  record.has_live_births = !cells.empty();
  for (Births& births : record.births) {
    const uint32_t stretch = stretches_.place_at(births.stretch_ns);
    const Alive& now = alive_[stretch];
    int64_t gone = births.live_blocks - now.blocks;
    // A look reads the sums first, then the table, while the program runs. So a block of the table
    // may be missing in the sums, and be counted as born after it. The sums know how many died.
    if (stretch == stretches_.last())
      gone = std::min(gone, record.total_blocks - record.live_blocks - record.ended_lives);
    record.add_lives(seconds_between(births.from_ns, now_ns_), gone, now_s);
    births.live_bytes = now.bytes;
    births.live_blocks = now.blocks;
    births.samples = static_cast<uint32_t>(std::min<uint64_t>(now.samples, UINT32_MAX));
    births.blocks = std::max(births.blocks, births.live_blocks);
    births.bytes = std::max(births.bytes, births.live_bytes);
  }
}

// Makes the births agree with the latest row, when no survey will come. A process that is gone may
// be missing in the table already, or the last look was not a survey. Which of the blocks were
// freed since is not known, so all stretches lose the same part.
void Ledger::settle(TrackRecord& record, uint64_t time_ns) const {
  int64_t counted = 0;
  for (const Births& births : record.births) counted += births.live_blocks;
  if (counted <= record.live_blocks || counted == 0) return;
  const double part = static_cast<double>(record.live_blocks) / static_cast<double>(counted);
  for (Births& births : record.births) {
    const auto scaled = [&](auto value) {
      return static_cast<decltype(value)>(static_cast<double>(value) * part);
    };
    const int64_t live = scaled(births.live_blocks);
    record.add_lives(seconds_between(births.from_ns, time_ns), births.live_blocks - live,
                     seconds_between(0, time_ns));
    births.live_blocks = live;
    births.live_bytes = scaled(births.live_bytes);
    births.samples = scaled(births.samples);
  }
}

void Ledger::end(uint64_t time_ns) {
  now_ns_ = std::max(now_ns_, time_ns);
  for (TrackRecord& record : records_)
    if (record.exists && !record.ended_ns) settle(record, now_ns_);
  is_over_ = true;
}

void Ledger::forget(std::span<const TrackId> tracks) {
  for (const TrackId track : tracks) {
    if (track.index >= records_.size()) continue;
    forgotten_blocks_ += records_[track.index].total_blocks;
    tracks_of_.erase(records_[track.index].space);
    records_[track.index] = {};
  }
}

TrackRecord Ledger::joined(TrackId track) const {
  TrackRecord record = records_[track.index];
  record.join(stretches_.begins());
  return record;
}

std::optional<Verdict> Ledger::judged(const TrackRecord& record,
                                      const VerdictOptions& options) const {
  return judge(
      record,
      {stretches_.begins(), stretches_.end_ns(), bins_, now_ns_, is_over_, columns_.is_collected},
      options);
}

std::optional<Verdict> Ledger::verdict(TrackId track, const VerdictOptions& options) const {
  if (track.index >= records_.size() || !records_[track.index].exists) return std::nullopt;
  std::optional<Verdict> verdict = judged(joined(track), options);
  if (verdict) verdict->track = track;
  return verdict;
}

std::optional<Verdict> Ledger::verdict(std::span<const TrackId> tracks,
                                       const VerdictOptions& options) const {
  if (tracks.size() == 1) return verdict(tracks[0], options);
  std::vector<TrackRecord> living, ended;
  for (const TrackId track : tracks) {
    if (track.index >= records_.size() || !records_[track.index].exists) continue;
    (records_[track.index].ended_ns ? ended : living).push_back(joined(track));
  }
  std::optional<Verdict> verdict, left;
  if (!living.empty()) verdict = judged(sum_of(living), options);
  if (!ended.empty()) left = judged(sum_of(ended), options);
  if (verdict && left) {
    // Either group shows what the stack does; the worse one is the news.
    if (is_worse(*left, *verdict)) std::swap(verdict, left);
    verdict->live_bytes += left->live_bytes;
    verdict->live_blocks += left->live_blocks;
    verdict->total_bytes += left->total_bytes;
    verdict->total_blocks += left->total_blocks;
    if (verdict->kind == VerdictKind::leak && left->kind == VerdictKind::leak) {
      verdict->survivors += left->survivors;
      verdict->survivor_bytes += left->survivor_bytes;
    }
  } else if (left) {
    verdict = std::move(left);
  }
  if (verdict) verdict->track = tracks[0];
  return verdict;
}

std::vector<Verdict> Ledger::verdicts(const VerdictOptions& options) const {
  std::vector<Verdict> all;
  for (uint32_t i = 0; i < records_.size(); ++i)
    if (std::optional<Verdict> one = verdict(TrackId{i}, options)) all.push_back(*one);
  std::sort(all.begin(), all.end(), is_worse);
  return all;
}

Ledger ledger_of(const History& history, uint64_t until_ns) {
  Ledger ledger(history.recording.types);
  for (const Look& look : history.looks)
    if (look.time_ns <= until_ns) ledger.add(look, history.tracks);
  const uint64_t end_ns = history.looks.empty() ? 0 : history.looks.back().time_ns;
  if (history.is_complete && end_ns <= until_ns) ledger.end(end_ns);
  return ledger;
}

}  // namespace memflame
