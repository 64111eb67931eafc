// SPDX-License-Identifier: BSD-2-Clause
// What is asked of an InsideSession while it goes on: looks, events, and what it forgets.
#include "probes/inside/columns.h"
#include "probes/inside/inside_session.h"
#include "probes/run/side_by_side.h"

namespace memflame::inside {

void InsideSession::name_stacks() {
  for (std::vector<uint32_t> added; !(added = stacks_.take_added()).empty();)
    for (const uint32_t stack : added) {
      log_.keep(key_of(stack), stacks_.raw(stack));
      breathe();
    }
}

Looks& InsideSession::looks(History& history) {
  if (!looks_) {
    std::vector<ProbeTypes> types{{probe_.name, true, probe_.types(options_, is_sampled())}};
    history.recording.types = side_by_side(types);
    history.recording.shown = value_named(probe_, options_.value).column;
    history.gauges = os_gauges();
    looks_.emplace(std::move(types), armed_ns_);
  }
  return *looks_;
}

Look InsideSession::look(History& history, bool survey) {
  Look look = looks(history).take(*this, history, survey);
  processes_.spaces().copy_to(history.recording, false);
  return look;
}

void InsideSession::wait_no_more() {
  if (events_ && events_->is_full()) events_->open_gap(events_->since_start(monotonic_ns()));
}

EventBatch InsideSession::take_events(History& history) {
  if (!events_) return {};
  const uint64_t now = monotonic_ns();
  std::optional<Checkpoint> checkpoint;
  if (events_->wants_checkpoint(blocks_.table().size(), events_->since_start(now), !counts_))
    checkpoint = told_->checkpoint(now);
  EventBatch batch = events_->take(events_->since_start(now), std::move(checkpoint));
  name_stacks();
  stack_ids_.resize(stacks_.size());
  place_stacks(batch, [&](RawStackId stack) {
    RawStackId& id = stack_ids_[stack.index];
    if (!id) id = looks(history).stack(log_, key_of(stack.index), history);
    return id;
  });
  events_->add_threads_to(history.threads);
  processes_.spaces().copy_to(history.recording, false);
  return batch;
}

std::vector<TrackId> InsideSession::forget(const Look& look, History& history) {
  if (!options_.forgets_ended) {
    const std::vector<SpaceId> ended = take_over_ended().given_back;
    if (ended.empty()) return {};
    return looks(history).forget(one_of(ended), history);
  }
  if (events_) return {};
  const auto [is_gone, newly] = processes_.forget(armed_ns_ + look.time_ns);
  if (newly.empty()) return {};
  blocks_.forget(is_gone);
  const auto is_stack_gone = [this, &gone = is_gone](uint32_t stack) {
    return gone(SpaceId{stacks_[stack].space});
  };
  blocks_.forget_sums(is_gone, is_stack_gone);
  log_.forget(is_gone);
  return looks(history).forget(is_gone, history);
}

Leaving InsideSession::hand_over(History& history) {
  const Estates::Taken taken = take_over_ended();
  if (taken.given_back.empty() || !looks_) return {};
  processes_.spaces().add_estates_to(history.recording);
  return looks_->leave(one_of(taken.given_back), taken.moves, log_, history);
}

// Stacks that live blocks name stay under their numbers, and have another place when they are asked
// for again.
void InsideSession::let_go(const Leaving& leaving, History& history) {
  looks(history).let_go(leaving, history);
  forget_stacks(stack_ids_, leaving);
}

// As Session::take_over_ended().
Estates::Taken InsideSession::take_over_ended() {
  if (options_.forgets_ended) return {};
  const std::vector<SpaceId> ended = estates_.due(processes_.spaces());
  if (ended.empty()) return {};
  name_stacks();
  Estates::Taken taken =
      estates_.take_over(ended, log_, processes_, [this] { return guests_.new_space(); });
  move_figures(taken);
  log_.move(taken.moves, true, [](uint32_t, StackLog::Values&) {});
  processes_.spaces().give_back(taken.given_back);
  return taken;
}

// Stacks that no live block names make room for others.
void InsideSession::move_figures(Estates::Taken& taken) {
  const IsGone is_gone = one_of(taken.given_back);
  std::vector<uint32_t> free;
  for (StackMove& move : taken.moves) {
    StackLog::Values values{};
    if (move.from >> 63 == 0) {
      const auto space = static_cast<uint32_t>(move.from >> 8);
      if (move.from != key_of_lost(space)) continue;
      fill(values.data(), in_columns(blocks_.take_unfollowed(space)));
    } else if (const auto stack = static_cast<uint32_t>(move.from); move.from == key_of(stack)) {
      const BlockSums sum = blocks_.take_sum(stack);
      fill(values.data(), sum);
      move.has_blocks = sum.live_count != 0;
      if (!move.has_blocks && is_gone(SpaceId{stacks_[stack].space})) free.push_back(stack);
    }
    log_.add(0, move.to, values);
  }
  stacks_.remove(free);
  for (const uint32_t stack : free)
    if (stack < stack_ids_.size()) stack_ids_[stack] = {};
}

TrackId InsideSession::track_of(uint64_t key) const {
  return looks_ ? looks_->track_of(log_, key) : TrackId{};
}

}  // namespace memflame::inside
