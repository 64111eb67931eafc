// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/event_log.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace memflame {
namespace {

// A checkpoint takes about as many bytes as that many events; so it adds 1 in 16 to the file.
constexpr size_t events_for_a_block = 16, fewest_events = size_t{4} << 20U;
constexpr uint64_t most_wait_ns = 1'000'000'000;

}  // namespace

void EventLog::add_to(Gap& gap, uint64_t count, uint64_t time_ns) {
  if (!gap) gap = EventGap{.from_ns = time_ns, .until_ns = time_ns, .events = 0};
  gap->until_ns = std::max(gap->until_ns, time_ns);
  gap->events += count;
}

ThreadId EventLog::new_thread(SpaceId space, uint32_t tid, std::string name) {
  new_threads_.push_back({space, tid, std::move(name)});
  return ThreadId{told_ + static_cast<uint32_t>(new_threads_.size() - 1)};
}

void EventLog::add_threads_to(std::vector<Thread>& known) {
  told_ += static_cast<uint32_t>(new_threads_.size());
  std::ranges::move(std::exchange(new_threads_, {}), std::back_inserter(known));
}

bool EventLog::wants_checkpoint(size_t live, uint64_t now_ns, bool is_last) const {
  if (gap_ || (lost_ && (is_last || now_ns - lost_->from_ns >= most_wait_ns))) return true;
  return since_checkpoint_ + events_.size() >= std::max(live * events_for_a_block, fewest_events);
}

EventBatch EventLog::take(uint64_t now_ns, std::optional<Checkpoint> checkpoint) {
  EventBatch batch{.events = std::exchange(events_, {}),
                   .gaps = {},
                   .checkpoint = std::move(checkpoint),
                   .lost = 0};
  events_.reserve(batch.events.size());  // the next batch is often as large
  since_checkpoint_ = batch.checkpoint ? 0 : since_checkpoint_ + batch.events.size();
  if (!batch.checkpoint) return batch;
  newest_ns_ = std::max(newest_ns_, now_ns);
  batch.checkpoint->time_ns = newest_ns_;
  // By a clock whose rate was measured anew since, a block can seem some ns later than that.
  for (LiveBlock& block : batch.checkpoint->blocks)
    block.allocated_ns = std::min(block.allocated_ns, newest_ns_);
  if (gap_) batch.lost = std::max<uint64_t>(gap_->events, 1);
  for (Gap* gap : {&lost_, &gap_}) {
    if (!*gap) continue;
    (*gap)->until_ns = newest_ns_;
    batch.gaps.push_back(**gap);
    gap->reset();
  }
  return batch;
}

}  // namespace memflame
