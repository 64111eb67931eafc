// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/heap/heaptrack_history.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/interner.h"

namespace memflame {
namespace {

// Looks are this far apart, or this part of the time since the begin of the run if that is more: a
// run of any length has a few thousand.
constexpr uint64_t shortest_look_ns = 10'000'000, looks_of_a_run = 500;
// There are at least as many events between two surveys as they have blocks to count.
constexpr uint64_t fewest_checkpoint_events = uint64_t{1} << 20U;

}  // namespace

HeaptrackHistory::HeaptrackHistory() {
  Recording& recording = history_.recording;
  recording.spaces.emplace_back();
  recording.types = {{"live", Unit::bytes},
                     {"live-count", Unit::count},
                     {"total", Unit::bytes},
                     {"total-count", Unit::count}};
  history_.gauges = {{std::string(resident_gauge)}};
  history_.threads.push_back({.space = process, .tid = 0, .name = "all threads"});
}

void HeaptrackHistory::write_to(std::unique_ptr<HistoryFile> file) {
  writer_.emplace(std::move(file), history_.recording.meta, history_.recording.types,
                  history_.recording.shown, history_.gauges, HistoryLimits{},
                  EventOptions{.nanoseconds = true});
}

uint32_t HeaptrackHistory::add_track(RawStackId stack) {
  const uint32_t track = next_index(history_.tracks.size());
  history_.tracks.push_back({.stack = stack, .space = process, .group = {}});
  sums_.emplace_back();
  changed_.push_back(false);
  return track;
}

ThreadId HeaptrackHistory::add_thread(uint32_t tid) {
  const ThreadId thread{next_index(history_.threads.size())};
  history_.threads.push_back({.space = process, .tid = tid, .name = {}});
  return thread;
}

void HeaptrackHistory::begin_block(LiveOne& block, BlockNumber moved, uint64_t size, uint32_t track,
                                   const Call& call) {
  block = {.number = BlockNumber{++allocations_},
           .allocated_ns = now_ns_,
           .address = call.address,
           .size = size,
           .track = track,
           .thread = call.thread};
  add({.kind = moved == BlockNumber::none ? EventKind::allocation : EventKind::move,
       .time_ns = now_ns_,
       .thread = call.thread,
       .block = block.number,
       .moved = moved,
       .stack = history_.tracks[track].stack,
       .address = call.address,
       .size = size});
  change(track, static_cast<int64_t>(size), true);
}

void HeaptrackHistory::allocate(uint64_t key, uint64_t size, uint32_t track, const Call& call) {
  const auto [block, is_new] = live_.try_emplace(key);
  ++now_ns_;
  if (!is_new) {
    ++reused_;
    add({.kind = EventKind::free,
         .time_ns = now_ns_,
         .thread = call.thread,
         .block = block->second.number});
    end_block(block);
    ++now_ns_;
  }
  begin_block(block->second, BlockNumber::none, size, track, call);
}

void HeaptrackHistory::move(uint64_t old_key, uint64_t key, uint64_t size, uint32_t track,
                            const Call& call) {
  const auto old = live_.find(old_key);
  if (old == live_.end()) {
    ++unknown_frees_;
    return allocate(key, size, track, call);
  }
  // Another block that has the key ends before.
  if (key != old_key && live_.contains(key)) {
    ++reused_;
    free(key, call.thread);
  }
  const BlockNumber moved = old->second.number;
  end_block(old);
  live_.erase(old);
  ++now_ns_;
  begin_block(live_[key], moved, size, track, call);
}

void HeaptrackHistory::free(uint64_t key, ThreadId thread) {
  const auto block = live_.find(key);
  if (block == live_.end()) {
    ++unknown_frees_;
    return;
  }
  add({.kind = EventKind::free,
       .time_ns = ++now_ns_,
       .thread = thread,
       .block = block->second.number});
  end_block(block);
  live_.erase(block);
}

void HeaptrackHistory::end_block(Live::iterator block) {
  change(block->second.track, static_cast<int64_t>(block->second.size), false);
}

void HeaptrackHistory::change(uint32_t track, int64_t bytes, bool is_new) {
  Sums& sums = sums_[track];
  if (is_new && __builtin_add_overflow(sums[total], bytes, &sums[total]))
    throw Error("the sum of all bytes allocated leaves the range of 64 bits");
  sums[total_count] += is_new ? 1 : 0;
  sums[live] += is_new ? bytes : -bytes;  // never above the total
  sums[live_count] += is_new ? 1 : -1;
  if (changed_[track]) return;
  changed_[track] = true;
  changes_.push_back(track);
}

void HeaptrackHistory::add(const Event& event) {
  events_.push_back(event);
  if (events_.size() == events_of_a_chunk) write_events();
}

void HeaptrackHistory::write_events() {
  since_survey_ += events_.size();
  since_checkpoint_ += events_.size();
  writer_->add_events(history_, events_);
  events_.clear();
}

// From here on the events can be read without those before.
void HeaptrackHistory::write_checkpoint() {
  std::vector<LiveBlock> blocks;
  blocks.reserve(live_.size());
  for (const auto& [key, block] : live_)
    blocks.push_back({.block = block.number,
                      .allocated_ns = block.allocated_ns,
                      .thread = block.thread,
                      .stack = history_.tracks[block.track].stack,
                      .address = block.address,
                      .size = block.size});
  writer_->add_checkpoint(history_, now_ns_, blocks);
  since_checkpoint_ = 0;
}

void HeaptrackHistory::time(uint64_t time_ns) {
  now_ns_ = std::max(now_ns_, time_ns);
  if (now_ns_ >= next_look_ns_) look();
}

void HeaptrackHistory::look() {
  write_events();
  if (since_checkpoint_ >= std::max<uint64_t>(fewest_checkpoint_events, live_.size()))
    write_checkpoint();
  Look look;
  look.time_ns = now_ns_;
  look.gauges = {resident_};
  std::sort(changes_.begin(), changes_.end());
  for (const uint32_t track : changes_) {
    look.rows.add(TrackId{track}, sums_[track]);
    changed_[track] = false;
  }
  changes_.clear();
  if (since_survey_ >= live_.size()) survey(look);
  writer_->add(history_, look);
  next_look_ns_ = now_ns_ + std::max(shortest_look_ns, now_ns_ / looks_of_a_run);
}

// How many blocks of each stack and each stretch of birth times live.
void HeaptrackHistory::survey(Look& look) {
  std::vector<uint64_t> begins(stretches_.begins().begin(), stretches_.begins().end());
  const bool is_later = now_ns_ > survey_ns_;  // the last look may come at once behind another
  if (begins.empty() || (is_later && survey_ns_ > begins.back())) begins.push_back(survey_ns_);
  stretches_.survey(begins, now_ns_);
  look.stretches.assign(stretches_.begins().begin(), stretches_.begins().end());
  std::map<std::pair<uint32_t, uint32_t>, Look::Cell> cells;
  for (const auto& [address, block] : live_) {
    const uint32_t stretch = stretches_.place_at(block.allocated_ns);
    Look::Cell& cell = cells[{block.track, stretch}];
    cell.track = TrackId{block.track};
    cell.stretch = stretch;
    cell.bytes += static_cast<int64_t>(block.size);
    ++cell.blocks;
    ++cell.samples;
  }
  for (const auto& [key, cell] : cells) look.cells.push_back(cell);
  survey_ns_ = now_ns_;
  since_survey_ = 0;
}

void HeaptrackHistory::finish() {
  since_survey_ = live_.size();  // the last look is a survey
  look();
  history_.recording.meta.seconds = static_cast<double>(now_ns_) / 1e9;
  writer_->finish(history_);
}

}  // namespace memflame
