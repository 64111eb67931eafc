// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/text/blocks.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>

#include "core/error.h"

namespace memflame {

size_t whole_lines(std::string_view text) { return text.rfind('\n') + 1; }

size_t whole_paragraphs(std::string_view text) {
  for (size_t end = text.rfind('\n'); end != std::string_view::npos && end > 0;
       end = text.rfind('\n', end - 1)) {
    if (text[end - 1] == '\n') return end + 1;
    if (end > 1 && text[end - 1] == '\r' && text[end - 2] == '\n') return end + 1;
  }
  return 0;
}

namespace {

constexpr size_t cache_line = InCacheLines<char>::cache_line;

// `size` bytes of a file at `place`, into `into`; false if the file does not have them any more.
bool read_at(int file, uint64_t place, char* into, size_t size) {
  while (size != 0) {
    const ssize_t got = ::pread(file, into, size, static_cast<off_t>(place));
    if (got == 0) return false;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error(std::string("cannot be read: ") + std::strerror(errno));
    into += got;
    place += static_cast<uint64_t>(got);
    size -= static_cast<size_t>(got);
  }
  return true;
}

constexpr const char* too_long = "a line or record is longer than 2 GiB";
constexpr const char* became_shorter = "the file became shorter while it was read";

}  // namespace

void Blocks::share() {
  const std::optional<FilePart> part = source_.part_of_file();
  // Files that the kernel makes up say they are empty.
  if (!part || part->end - part->begin < Source::head_size) return;
  file_ = part;
  begins_ = std::vector<std::atomic<uint64_t>>((part->end - part->begin + size_ - 1) / size_);
}

bool Blocks::next(BlockBuffer& buffer, InputBlock& block) {
  if (!file_) return next_in_turn(buffer, block);
  if (ended_) return false;
  const size_t index = index_.fetch_add(1);
  if (index >= begins_.size()) return false;
  block = {index, {}};
  try {
    block.text = text_of(index, buffer);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    if (!failure_) failure_ = std::current_exception();
  }
  return true;
}

void Blocks::rethrow_failure() {
  if (failure_) std::rethrow_exception(failure_);
}

// The last end of a record in a range of the file that ends at `high`; nothing if none is in it.
std::optional<uint64_t> Blocks::last_end(uint64_t low, uint64_t high) const {
  constexpr size_t usual = size_t{8} << 10U;  // holds a stack
  std::vector<char> bytes;
  for (size_t size = usual;; size *= 2) {
    size = std::min<size_t>(size, high - low);
    bytes.resize(size);
    if (!read_at(file_->file, high - size, bytes.data(), size)) source_.fail(became_shorter);
    if (const size_t end = cut_({bytes.data(), size}); end != 0) return high - size + end;
    if (size == high - low) return {};
  }
}

// Where the block of this index begins: behind the last end of a record before its range. All
// threads get the same answer. It is kept, since a record may be longer than many ranges.
uint64_t Blocks::begin_of(size_t index) {
  uint64_t begin = file_->begin;
  size_t from = index;
  for (; from != 0; --from) {
    if (const uint64_t known = begins_[from].load(std::memory_order_relaxed); known != 0) {
      begin = known - 1;
      break;
    }
    const uint64_t high = file_->begin + uint64_t{from} * size_;
    if (const std::optional<uint64_t> end = last_end(high - size_, high)) {
      begin = *end;
      break;
    }
  }
  for (; from <= index; ++from) begins_[from].store(begin + 1, std::memory_order_relaxed);
  return begin;
}

std::string_view Blocks::text_of(size_t index, BlockBuffer& buffer) {
  const uint64_t begin = begin_of(index);
  const uint64_t end = index + 1 == begins_.size() ? file_->end : begin_of(index + 1);
  const size_t size = end - begin;
  if (size > max_size) source_.fail(too_long);
  // What is in front of a cache line in the file is so in memory, too: see InCacheLines.
  const size_t shift = begin % cache_line;
  if (buffer.size() < shift + size) buffer.resize(shift + std::max(size, size_ + size_ / 8));
  if (!read_at(file_->file, begin, buffer.data() + shift, size)) source_.fail(became_shorter);
  return {buffer.data() + shift, size};
}

bool Blocks::next_in_turn(BlockBuffer& buffer, InputBlock& block) {
  const std::lock_guard lock(mutex_);
  if (ended_) return false;
  ended_ = true;  // whatever is thrown here, no other thread continues
  // What is read lands where a cache line begins, from where a page begins: see InCacheLines.
  constexpr size_t page = 4096;
  const size_t begin = (cache_line - rest_.size() % cache_line) % cache_line;
  size_t room = std::max(size_, 2 * rest_.size());
  size_t filled = rest_.size();
  if (buffer.size() < cache_line + room) buffer.resize(cache_line + room);
  std::copy(rest_.begin(), rest_.end(), buffer.begin() + static_cast<ptrdiff_t>(begin));
  size_t end = 0;
  bool last = false;
  while (true) {
    const size_t asked = room - filled > page ? (room - filled) / page * page : room - filled;
    const size_t got = source_.read(buffer.data() + begin + filled, asked);
    filled += got;
    last = got < asked;
    end = last ? filled : cut_({buffer.data() + begin, filled});
    if (end != 0 || last) break;
    if (filled >= max_size) source_.fail(too_long);
    room = 2 * filled;
    buffer.resize(cache_line + room);
  }
  const auto text = buffer.begin() + static_cast<ptrdiff_t>(begin);
  rest_.assign(text + static_cast<ptrdiff_t>(end), text + static_cast<ptrdiff_t>(filled));
  block = {index_, {buffer.data() + begin, end}};
  index_ += end != 0 ? 1 : 0;
  ended_ = last;
  return end != 0;
}

void Blocks::stop() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
}

void for_each_block(Blocks& blocks, unsigned threads,
                    const std::function<bool(unsigned worker, const InputBlock& block)>& work) {
  constexpr size_t behind_all = SIZE_MAX;  // the place of errors while reading
  struct Failure {
    size_t block = behind_all;
    std::exception_ptr exception{};
  };
  if (threads > 1) blocks.share();
  std::vector<Failure> failures(threads);
  const auto run = [&](unsigned worker) {
    Failure& failure = failures[worker];
    try {
      BlockBuffer buffer;
      for (InputBlock block; blocks.next(buffer, block); failure.block = behind_all) {
        failure.block = block.index;
        if (!work(worker, block)) blocks.stop();
      }
    } catch (...) {
      failure.exception = std::current_exception();
      blocks.stop();
    }
  };
  {
    std::vector<std::jthread> others;
    for (unsigned worker = 1; worker < threads; ++worker) others.emplace_back(run, worker);
    run(0);
  }
  std::erase_if(failures, [](const Failure& failure) { return !failure.exception; });
  const auto first =
      std::min_element(failures.begin(), failures.end(),
                       [](const Failure& a, const Failure& b) { return a.block < b.block; });
  if (first != failures.end()) std::rethrow_exception(first->exception);
  blocks.rethrow_failure();
}

}  // namespace memflame
