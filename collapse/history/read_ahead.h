// SPDX-License-Identifier: BSD-2-Clause
// Reads a source in large blocks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "collapse/source/source.h"

namespace memflame {

// A recording has several chunks of a few hundred bytes for each second.
class ReadAhead {
 public:
  explicit ReadAhead(Source& source) : source_(source) {}

  // The next `size` bytes, fewer at the end of the file. Valid until the next call.
  std::string_view next(size_t size) {
    if (left_ < size) fill(size);
    const std::string_view bytes = std::string_view(buffer_).substr(at_, std::min(size, left_));
    at_ += bytes.size();
    left_ -= bytes.size();
    return bytes;
  }

 private:
  void fill(size_t size) {
    constexpr size_t block = size_t{256} << 10U;
    buffer_.erase(0, at_);
    at_ = 0;
    buffer_.resize(std::max(size, block));
    left_ += source_.read(buffer_.data() + left_, buffer_.size() - left_);
  }

  Source& source_;
  std::string buffer_;
  size_t at_ = 0, left_ = 0;  // what is left in the buffer begins at at_
};

}  // namespace memflame
