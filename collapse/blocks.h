// SPDX-License-Identifier: BSD-2-Clause
// An input in large pieces that end between its records, for one thread or several. The idea: only
// the cut (the last line feed or empty line of a piece) is found under the lock; each thread then
// parses whole records on its own, and the index keeps the input's order. Cost: one copy of the
// bytes behind each cut, and at most one buffer per thread; a pipe is read as fast as a file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <string_view>
#include <vector>

#include "collapse/source.h"

namespace memflame {

struct InputBlock {
  size_t index = 0;  // 0, 1, 2, … in the order of the input
  std::string_view text;
};

// Where a block may end: how many bytes of `text` are whole records; 0 if no record ends in it.
using BlockCut = size_t (*)(std::string_view text);
size_t whole_lines(std::string_view text);       // the last line feed
size_t whole_paragraphs(std::string_view text);  // the last empty line

class Blocks {
 public:
  static constexpr size_t usual_size = size_t{1} << 20U;
  // Longer records end the reading with an error: they are not text.
  static constexpr size_t max_size = size_t{1} << 31U;

  Blocks(Source& source, BlockCut cut, size_t size = usual_size)
      // All of a short input has been read already, so a small buffer does.
      : source_(source),
        cut_(cut),
        size_(source.head().size() < Source::head_size ? std::min(size, source.head().size() + 1)
                                                       : size) {}

  // The next block, in `buffer`; false at the end of the input, and after it has thrown. Any thread
  // may call it. The last record may be incomplete.
  bool next(std::vector<char>& buffer, InputBlock& block);

  // Gives no more blocks to any thread.
  void stop();

 private:
  std::mutex mutex_;
  Source& source_;
  const BlockCut cut_;
  const size_t size_;
  std::vector<char> rest_;  // read, but behind the last cut
  size_t index_ = 0;
  bool ended_ = false;
};

// Calls `work` for each block on `threads` threads, this one among them; `worker` is from 0 to
// threads - 1. If it returns false no further blocks are started, but those before it are finished.
// Once all threads are done, the exception of the earliest block is rethrown here; an error of
// reading counts as behind all blocks.
void for_each_block(Blocks& blocks, unsigned threads,
                    const std::function<bool(unsigned worker, const InputBlock& block)>& work);

}  // namespace memflame
