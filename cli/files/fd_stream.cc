// SPDX-License-Identifier: BSD-2-Clause
#include "cli/files/fd_stream.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

namespace memflame {

namespace {

constexpr int tick_ms = 100;
constexpr int ticks_without_progress = 10;
constexpr size_t most_without_waiting = PIPE_BUF;

bool is_read_elsewhere(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && !S_ISREG(status.st_mode);
}

}  // namespace

FdBuffer::FdBuffer(UniqueFd fd) : fd_(std::move(fd)), has_reader_(is_read_elsewhere(fd_.get())) {
  setp(bytes_.data(), bytes_.data() + bytes_.size());
}

bool FdBuffer::write(const char* data, size_t size) {
  while (size != 0 && error_ == 0) {
    if (has_reader_ && !wait_for_reader()) break;
    // A pipe that poll(2) calls writable takes PIPE_BUF bytes without waiting.
    const size_t bytes = has_reader_ ? std::min(size, most_without_waiting) : size;
    const ssize_t put = ::write(fd_.get(), data, bytes);
    if (put < 0 && errno != EINTR && errno != EAGAIN) error_ = errno;
    if (put <= 0) continue;
    data += put;
    size -= static_cast<size_t>(put);
  }
  return error_ == 0;
}

bool FdBuffer::wait_for_reader() {
  for (int ticks = 0; ticks < ticks_without_progress;) {
    pollfd file{fd_.get(), POLLOUT, 0};
    const int ready = ::poll(&file, 1, tick_ms);
    if (ready > 0) return true;  // or it is closed, which write() says
    if (ready == 0 && stop_.is_made()) ++ticks;
  }
  error_ = EINTR;
  return false;
}

int FdBuffer::sync() {
  const bool written = write(pbase(), static_cast<size_t>(pptr() - pbase()));
  setp(bytes_.data(), bytes_.data() + bytes_.size());
  return written ? 0 : -1;
}

FdBuffer::int_type FdBuffer::overflow(int_type letter) {
  if (sync() != 0) return traits_type::eof();
  if (!traits_type::eq_int_type(letter, traits_type::eof()))
    return sputc(traits_type::to_char_type(letter));
  return traits_type::not_eof(letter);
}

std::streamsize FdBuffer::xsputn(const char* text, std::streamsize size) {
  if (size > epptr() - pptr() && sync() != 0) return 0;
  if (size > epptr() - pptr()) return write(text, static_cast<size_t>(size)) ? size : 0;
  std::memcpy(pptr(), text, static_cast<size_t>(size));
  pbump(static_cast<int>(size));
  return size;
}

bool FdBuffer::close() {
  sync();
  // Some file systems report a full disk or quota only here.
  if (fd_ && ::close(fd_.release()) != 0 && error_ == 0) error_ = errno;
  return error_ == 0;
}

}  // namespace memflame
