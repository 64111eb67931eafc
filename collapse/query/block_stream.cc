// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/query/block_stream.h"

#include <utility>

namespace memflame {
namespace {

// Ends a reading that nobody needs any more.
struct NoMoreBlocks : std::exception {};

}  // namespace

BlockStream::BlockStream(BlockSource& blocks) : blocks_(blocks), reader_([this] { read(); }) {}

BlockStream::~BlockStream() {
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
  }
  changed_.notify_all();
  reader_.join();
}

const StreamedBlock* BlockStream::next() {
  if (next_ == batch_.size() && !take_batch()) return nullptr;
  return &batch_[next_++];
}

bool BlockStream::take_batch() {
  std::unique_lock lock(mutex_);
  batch_.clear();
  next_ = 0;
  changed_.wait(lock, [&] { return !ready_.empty() || has_ended_; });
  if (ready_.empty()) {
    if (failure_) std::rethrow_exception(failure_);
    return false;
  }
  spare_.push_back(std::exchange(batch_, std::move(ready_.front())));
  ready_.pop_front();
  lock.unlock();
  changed_.notify_all();
  return true;
}

void BlockStream::read() {
  std::exception_ptr failure;
  try {
    Batch batch;
    batch.reserve(blocks_of_a_batch);
    blocks_.for_each_block([&](const Block& block, const Chain& chain) {
      batch.push_back({block, chain});
      if (batch.size() == blocks_of_a_batch) hand_over(batch);
    });
    if (!batch.empty()) hand_over(batch);
  } catch (const NoMoreBlocks&) {
  } catch (...) {
    failure = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  failure_ = failure;
  has_ended_ = true;
  changed_.notify_all();
}

// Leaves an empty batch.
void BlockStream::hand_over(Batch& batch) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ready_.size() < most_batches || is_stopped_; });
  if (is_stopped_) throw NoMoreBlocks();
  ready_.push_back(std::exchange(batch, Batch()));
  if (!spare_.empty()) {
    batch = std::move(spare_.back());
    spare_.pop_back();
  }
  lock.unlock();
  changed_.notify_all();
  batch.reserve(blocks_of_a_batch);
}

}  // namespace memflame
