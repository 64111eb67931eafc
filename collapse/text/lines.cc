// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/text/lines.h"

#include <cstring>

namespace memflame {

// Appends more bytes; false at the end of the input.
bool Lines::fill() {
  if (begin_ != 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) {
    if (end_ >= max_length) source_.fail("a line is longer than 1 GiB", number_ + 1);
    buffer_.resize(2 * end_);
  }
  const size_t got = source_.read(buffer_.data() + end_, buffer_.size() - end_);
  end_ += got;
  return got != 0;
}

bool Lines::next() {
  if (again_) {
    again_ = false;
    return true;
  }
  size_t searched = 0;
  const void* feed = nullptr;
  while (true) {
    if (end_ - begin_ > searched)
      feed = std::memchr(&buffer_[begin_ + searched], '\n', end_ - begin_ - searched);
    if (feed != nullptr) break;
    searched = end_ - begin_;
    if (!fill()) break;
  }
  if (feed == nullptr && begin_ == end_) return false;
  ended_line_ = feed != nullptr;
  const char* text = &buffer_[begin_];
  const size_t length =
      ended_line_ ? static_cast<size_t>(static_cast<const char*>(feed) - text) : end_ - begin_;
  begin_ += length + (ended_line_ ? 1 : 0);
  line_ = {text, length};
  if (line_.ends_with('\r')) line_.remove_suffix(1);
  ++number_;
  return true;
}

}  // namespace memflame
