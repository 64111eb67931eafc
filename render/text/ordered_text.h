// SPDX-License-Identifier: BSD-2-Clause
// Text made by several threads, written as one thread would have.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <ostream>
#include <string>
#include <vector>

namespace memflame {

// Takes the text of chunks 0, 1, 2, … from threads, each of which delivers its own chunks in order.
// A thread that is too far ahead waits, so at most 4 texts per thread are held.
class OrderedText {
 public:
  // Text of this length should be handed over.
  static constexpr size_t piece = size_t{512} << 10U;

  OrderedText(std::ostream& out, unsigned threads) : out_(out), ahead_(size_t{4} * threads) {}

  // Writes a part of a chunk and empties `text`. Waits until all chunks before it have ended. False
  // if another thread failed.
  bool add(size_t chunk, std::string& text);
  // The last part of a chunk.
  bool end(size_t chunk, std::string& text);
  // Tells all threads to stop.
  void fail();

 private:
  void write(std::string& text);
  std::string spare();

  std::ostream& out_;
  const size_t ahead_;
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t turn_ = 0;                      // the chunk that is being written
  std::map<size_t, std::string> ended_;  // chunks that came early
  std::vector<std::string> spare_;       // empty, but with allocated room
  bool failed_ = false;
};

// Calls `work(thread, text)` on `threads` threads, this one among them; once all are done, rethrows
// here what one of them threw.
void write_in_order(std::ostream& out, unsigned threads,
                    const std::function<void(unsigned thread, OrderedText& text)>& work);

}  // namespace memflame
