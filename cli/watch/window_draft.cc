// SPDX-License-Identifier: BSD-2-Clause
#include "cli/watch/window_draft.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/error.h"
#include "core/units.h"
#include "probes/heaps/go/go_heaps.h"

namespace memflame {

WindowDrafts::WindowDrafts(std::vector<ValueType> types, const std::string& probe)
    : types_(std::move(types)) {
  // A probe's column, as a run of one or of several probes names it.
  const auto of = [&](const std::string& name, const char* column) {
    if (!probe.empty()) return probe == name ? std::string(column) : std::string();
    return name + "-" + column;
  };
  add_column("inuse_space", "live");
  add_column("inuse_objects", "live-count");
  const auto first_of = [this](std::string_view a, std::string_view b) {
    return column_named(a) != no_column ? a : b;
  };
  add_column("alloc_space", first_of(watched_column, "total"));
  add_column("alloc_objects", first_of(watched_count_column, "total-count"));
  add_column("brk_space", of("brk", "grown"));
  add_column("mmap_space", of("mmap", "outstanding"));
  add_column("resident_space", of("fault", "gained"), of("fault", "released"), page_bytes);
  if (columns_.empty()) throw Error("internal: no column of this run belongs into a window");
  if (block_columns(types_)) ledger_.emplace(types_);
}

size_t WindowDrafts::column_named(std::string_view name) const {
  const auto found = std::find_if(types_.begin(), types_.end(),
                                  [&](const ValueType& type) { return type.name == name; });
  return found == types_.end() ? no_column : static_cast<size_t>(found - types_.begin());
}

void WindowDrafts::add_column(std::string_view type, std::string_view plus, std::string_view minus,
                              int64_t factor) {
  const size_t column = column_named(plus);
  if (column == no_column) return;
  columns_.push_back({window_type(type), column, column_named(minus), factor});
}

void WindowDrafts::add(const Look& look, const History& tables) {
  now_.resize(tables.tracks.size() * types_.size());
  before_.resize(now_.size());
  for (const Look::Row& row : look.rows)
    std::copy(row.values.begin(), row.values.end(),
              now_.begin() + static_cast<std::ptrdiff_t>(row.track.index * types_.size()));
  for (const SpaceId space : look.ended) {
    if (ended_.size() <= space.index) ended_.resize(space.index + size_t{1});
    ended_[space.index] = true;
  }
  if (ledger_) ledger_->add(look, tables.tracks);
}

bool WindowDrafts::has_ended(const Track& track) const {
  return track.space.index < ended_.size() && ended_[track.space.index];
}

int64_t WindowDrafts::figure(const Column& column, const std::vector<int64_t>& values,
                             size_t track) const {
  const size_t first = track * types_.size();
  const int64_t minus = column.minus == no_column ? 0 : values[first + column.minus];
  return (values[first + column.plus] - minus) * column.factor;
}

// What a process that has ended held is not in use.
void WindowDrafts::forget_ended(const History& tables) {
  for (size_t i = 1; i < tables.tracks.size() && (i + 1) * types_.size() <= now_.size(); ++i) {
    if (!has_ended(tables.tracks[i])) continue;
    for (const Column& column : columns_)
      if (column.type->is_state) now_[i * types_.size() + column.plus] = 0;
  }
}

// The draft's row of a track, with the growth as its last figure.
std::vector<int64_t> WindowDrafts::figures_of(size_t track) const {
  std::vector<int64_t> row;
  int64_t growth = 0;
  for (const Column& column : columns_) {
    const int64_t now = figure(column, now_, track);
    const int64_t before = figure(column, before_, track);
    row.push_back(column.type->is_state ? now : now - before);
    if (column.type == &window_types.front()) growth = now - before;
  }
  row.push_back(growth);
  return row;
}

WindowDraft WindowDrafts::take(const History& tables, Recording code, const LabelsOf& labels) {
  WindowDraft draft;
  Recording& recording = draft.recording = std::move(code);
  recording.types.clear();
  recording.shown = 0;
  recording.sums.clear();
  recording.losses = {};  // the run's are figures of the draft
  recording.stacks.assign(1, RawStack{});
  for (const Column& column : columns_)
    recording.types.push_back({std::string(column.type->name), column.type->unit});
  recording.types.push_back({std::string(growth_column), Unit::bytes});
  forget_ended(tables);
  std::unordered_map<uint32_t, RawStackId> stacks;
  std::map<Labels, size_t> services;
  for (size_t i = 1; i < tables.tracks.size() && (i + 1) * types_.size() <= now_.size(); ++i) {
    const Track& track = tables.tracks[i];
    std::vector<int64_t> row = figures_of(i);
    if (std::all_of(row.begin(), row.end(), [](int64_t value) { return value == 0; })) continue;
    const auto [stack, is_new] = stacks.try_emplace(
        track.stack.index, RawStackId{static_cast<uint32_t>(recording.stacks.size())});
    if (is_new) recording.stacks.push_back(tables.recording.stacks[track.stack.index]);
    const auto [service, is_new_service] =
        services.try_emplace(labels(track.space), draft.services.size());
    if (is_new_service)
      draft.services.push_back({.labels = service->first, .sums = {}, .figures = {}});
    draft.services[service->second].sums.push_back(recording.sums.size());
    recording.sums.push_back({stack->second, track.group, std::move(row), 1});
  }
  if (ledger_) draft.judged = JudgedRun{*ledger_, tables.tracks, tables.recording.stacks};
  before_ = now_;
  return draft;
}

void WindowDrafts::forget(std::span<const TrackId> tracks) {
  for (const TrackId track : tracks)
    for (std::vector<int64_t>* figures : {&now_, &before_})
      std::fill_n(figures->begin() + static_cast<std::ptrdiff_t>(track.index * types_.size()),
                  types_.size(), 0);
  if (ledger_) ledger_->forget(tracks);
}

}  // namespace memflame
