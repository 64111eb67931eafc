// SPDX-License-Identifier: BSD-2-Clause
#include "cli/fd_stream.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace memflame {

FdBuffer::FdBuffer(UniqueFd fd) : fd_(std::move(fd)) {
  setp(bytes_.data(), bytes_.data() + bytes_.size());
}

bool FdBuffer::write(const char* data, size_t size) {
  while (size != 0 && error_ == 0) {
    const ssize_t put = ::write(fd_.get(), data, size);
    if (put < 0 && errno != EINTR) error_ = errno;
    if (put <= 0) continue;
    data += put;
    size -= static_cast<size_t>(put);
  }
  return error_ == 0;
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
