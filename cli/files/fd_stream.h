// SPDX-License-Identifier: BSD-2-Clause
// A stream over an open descriptor: no name is looked up again.
//
// A reader of a pipe may be slow. If memflame is asked to end meanwhile and the reader takes
// nothing for a second, writing fails with EINTR.
#pragma once

#include <array>
#include <ostream>
#include <streambuf>

#include "core/stop_request.h"
#include "core/unique_fd.h"

namespace memflame {

class FdBuffer : public std::streambuf {
 public:
  explicit FdBuffer(UniqueFd fd);
  ~FdBuffer() override { sync(); }
  FdBuffer(const FdBuffer&) = delete;
  FdBuffer& operator=(const FdBuffer&) = delete;

  // Writes the rest and closes. False if anything could not be written.
  bool close();
  // errno of the first failed write; 0 = none
  int error() const { return error_; }

 protected:
  int_type overflow(int_type letter) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override;

 private:
  bool write(const char* data, size_t size);
  bool wait_for_reader();

  UniqueFd fd_;
  bool has_reader_;  // a pipe, terminal or socket; else a file
  StopRequest stop_;
  int error_ = 0;
  std::array<char, size_t{64} * 1024> bytes_{};
};

class FdStream : public std::ostream {
 public:
  explicit FdStream(UniqueFd fd) : std::ostream(nullptr), buffer_(std::move(fd)) {
    rdbuf(&buffer_);
  }
  FdBuffer& buffer() { return buffer_; }

 private:
  FdBuffer buffer_;
};

}  // namespace memflame
