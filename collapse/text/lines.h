// SPDX-License-Identifier: BSD-2-Clause
// Lines of an input.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "collapse/source/source.h"

namespace memflame {

class Lines {
 public:
  // Longer lines end the reading with an error: they are not text.
  static constexpr size_t max_length = size_t{1} << 30U;

  explicit Lines(Source& source) : source_(source), buffer_(first_size) {}

  // The next line without its end ("\n" or "\r\n"); false at the end of the input. The line is
  // valid until the next call. Memory is twice the longest line.
  bool next();

  // Makes next() return the same line once more.
  void again() { again_ = true; }

  std::string_view line() const { return line_; }
  size_t number() const { return number_; }  // from 1
  bool ended() const {
    return ended_line_;
  }  // it had a line feed: false for a last line that is
     // cut off

  // Throws Error: "NAME:LINE: what".
  [[noreturn]] void fail(const std::string& what) const { source_.fail(what, number_); }

 private:
  static constexpr size_t first_size = size_t{1} << 20U;
  bool fill();

  Source& source_;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;  // the bytes not returned yet, in the buffer
  std::string_view line_;
  size_t number_ = 0;
  bool ended_line_ = true, again_ = false;
};

}  // namespace memflame
