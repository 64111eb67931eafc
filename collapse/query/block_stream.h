// SPDX-License-Identifier: BSD-2-Clause
// The blocks of a run, one by one. A BlockSource hands out its blocks itself; here a thread of its
// own takes them, a bounded number ahead of whoever asks for the next one.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "collapse/select/block_source.h"

namespace memflame {

struct StreamedBlock {
  Block block;
  Chain chain;
};

class BlockStream {
 public:
  // `blocks` outlives this object; several streams may read it at once.
  explicit BlockStream(BlockSource& blocks);
  // Stops reading.
  ~BlockStream();
  BlockStream(const BlockStream&) = delete;
  BlockStream& operator=(const BlockStream&) = delete;

  // Valid until the next call; null at the end. Throws what reading has thrown.
  const StreamedBlock* next();

 private:
  using Batch = std::vector<StreamedBlock>;
  static constexpr size_t blocks_of_a_batch = 1024, most_batches = 16;  // 3 MiB together

  void read();
  void hand_over(Batch& batch);
  bool take_batch();

  BlockSource& blocks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Batch> ready_;
  std::vector<Batch> spare_;  // empty, but with room
  bool has_ended_ = false;
  std::atomic<bool> is_stopped_ = false;
  std::exception_ptr failure_;
  Batch batch_;  // that is handed out
  size_t next_ = 0;
  std::thread reader_;  // the last member: it uses the others
};

}  // namespace memflame
