// SPDX-License-Identifier: BSD-2-Clause
// An input in large pieces that end between its records, for one thread or several. Each thread
// parses whole records on its own, and the index keeps the input's order.
//
// A file is read by all threads side by side, without a lock: a piece belongs to the records that
// end in a certain range of the file, so whoever takes it looks for the last end of a record before
// both ends of the range. Cost: those few KiB are copied twice more.
//
// A pipe, and whatever one thread reads, is read piece after piece; only reading and the cut
// (the last line feed or empty line of a piece) are under the lock. Cost: one more copy of the
// bytes behind each cut. At most one buffer per thread in either way.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <new>
#include <optional>
#include <string_view>
#include <vector>

#include "collapse/source/source.h"

namespace memflame {

struct InputBlock {
  size_t index = 0;  // 0, 1, 2, … in the order of the input
  std::string_view text;
};

// Where a block may end: how many bytes of `text` are whole records; 0 if no record ends in it.
using BlockCut = size_t (*)(std::string_view text);
size_t whole_lines(std::string_view text);       // the last line feed
size_t whole_paragraphs(std::string_view text);  // the last empty line

// Memory for blocks. The kernel copies a quarter faster to where a cache line begins: where it does
// not, some processors copy slowly if source and target have nearly one place in their pages.
template <class T>
struct InCacheLines {
  using value_type = T;
  static constexpr size_t cache_line = 64;
  InCacheLines() = default;
  template <class U>
  InCacheLines(const InCacheLines<U>&) {
  }  // NOLINT(google-explicit-constructor): allocators convert
  T* allocate(size_t count) {
    return static_cast<T*>(::operator new (count * sizeof(T), std::align_val_t{cache_line}));
  }
  void deallocate(T* memory, size_t) { ::operator delete (memory, std::align_val_t{cache_line}); }
  friend bool operator==(const InCacheLines&, const InCacheLines&) { return true; }
};
using BlockBuffer = std::vector<char, InCacheLines<char>>;

class Blocks {
 public:
  // Less than the L2 cache has, so that the bytes are still there when they are looked at.
  static constexpr size_t usual_size = size_t{256} << 10U;
  // Longer records end the reading with an error: they are not text.
  static constexpr size_t max_size = size_t{1} << 31U;

  Blocks(Source& source, BlockCut cut, size_t size = usual_size)
      // All of a short input has been read already, so a small buffer does.
      : source_(source),
        cut_(cut),
        size_(source.head().size() < Source::head_size ? std::min(size, source.head().size() + 1)
                                                       : size) {}

  // Several threads will call next(); before any does.
  void share();

  // The next block, in `buffer`; false at the end of the input, and after a failure. Any thread may
  // call it. The last record may be incomplete. If threads read side by side, a block may be empty,
  // and so is one that cannot be read: the others may wait for its turn.
  bool next(BlockBuffer& buffer, InputBlock& block);

  // Gives no more blocks to any thread.
  void stop();

  // Throws what kept a block from being read side by side.
  void rethrow_failure();

 private:
  bool next_in_turn(BlockBuffer& buffer, InputBlock& block);
  std::string_view text_of(size_t index, BlockBuffer& buffer);
  uint64_t begin_of(size_t index);
  std::optional<uint64_t> last_end(uint64_t low, uint64_t high) const;

  std::mutex mutex_;
  Source& source_;
  const BlockCut cut_;
  const size_t size_;
  std::atomic<size_t> index_ = 0;
  std::atomic<bool> ended_ = false;
  BlockBuffer rest_;  // read in turn, but behind the last cut
  // Where threads read side by side.
  std::optional<FilePart> file_;
  std::vector<std::atomic<uint64_t>> begins_;  // of blocks in the file, and 1; 0 if not known yet
  std::exception_ptr failure_;
};

// Calls `work` for each block on `threads` threads, this one among them; `worker` is from 0 to
// threads - 1. If it returns false no further blocks are started, but those before it are finished.
// Once all threads are done, the exception of the earliest block is rethrown here; an error of
// reading counts as behind all blocks.
void for_each_block(Blocks& blocks, unsigned threads,
                    const std::function<bool(unsigned worker, const InputBlock& block)>& work);

}  // namespace memflame
