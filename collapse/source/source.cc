// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/source/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "collapse/source/unpack.h"
#include "core/error.h"

namespace memflame {
namespace {

class File : public ByteStream {
 public:
  File(int fd, bool owned) : fd_(fd), owned_(owned) {
    constexpr int pipe_size = 1 << 20;  // fewer wake-ups; if that is refused, the size stays
    fcntl(fd, F_SETPIPE_SZ, pipe_size);
    posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  }
  ~File() override {
    if (owned_) close(fd_);
  }

  size_t read(char* into, size_t size) override {
    while (true) {
      const ssize_t got = ::read(fd_, into, size);
      if (got >= 0) return static_cast<size_t>(got);
      if (errno != EINTR) throw Error(std::string("cannot be read: ") + std::strerror(errno));
    }
  }

  std::optional<FilePart> part_of_file() const override {
    struct stat status {};
    if (::fstat(fd_, &status) != 0 || !S_ISREG(status.st_mode)) return {};
    const off_t place = ::lseek(fd_, 0, SEEK_CUR);
    if (place < 0 || place > status.st_size) return {};
    return FilePart{fd_, static_cast<uint64_t>(place), static_cast<uint64_t>(status.st_size)};
  }

 private:
  const int fd_;
  const bool owned_;
};

class Nothing : public ByteStream {
 public:
  size_t read(char*, size_t) override { return 0; }
};

std::string beginning(ByteStream& stream, size_t size) {
  std::string begin(size, '\0');
  size_t known = 0;
  while (known < size) {
    const size_t got = stream.read(begin.data() + known, size - known);
    if (got == 0) break;
    known += got;
  }
  begin.resize(known);
  return begin;
}

}  // namespace

Source::Source(std::string name, std::unique_ptr<ByteStream> stream) : name_(std::move(name)) {
  try {
    constexpr size_t magic = 16;  // as long as the longest one
    std::string begin = beginning(*stream, magic);
    stream_ = unpacked(std::move(begin), std::move(stream));
    part_ = stream_->part_of_file();
    head_ = beginning(*stream_, head_size);
  } catch (const Error& error) {
    fail(error.what());
  }
}

Source Source::open(const std::string& path) {
  if (path == "-") return {"standard input", std::make_unique<File>(STDIN_FILENO, false)};
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw Error("cannot read " + path + ": " + std::strerror(errno));
  auto file = std::make_unique<File>(fd, true);
  struct stat status {};
  const bool is_regular = ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  Source source(path, std::move(file));
  if (is_regular)
    source.changed_ns_ = int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  return source;
}

Source Source::of_stream(Open open, std::string name) {
  Source source(std::move(name), open());
  source.open_ = std::move(open);
  return source;
}

Source Source::again() const {
  if (!open_ && changed_ns_ == INT64_MAX)
    fail("it has to be read several times: it must be a file");
  Source same = open_ ? of_stream(open_, name_) : open(name_);
  same.accepts_cut_ = accepts_cut_;
  return same;
}

Source Source::of_memory(std::string bytes, std::string name) {
  return {std::move(name), with_beginning(std::move(bytes), std::make_unique<Nothing>())};
}

std::optional<FilePart> Source::part_of_file() const { return taken_ == 0 ? part_ : std::nullopt; }

size_t Source::read(char* into, size_t size) {
  size_t done = std::min(size, head_.size() - taken_);
  std::memcpy(into, head_.data() + taken_, done);
  taken_ += done;
  try {
    while (done < size) {
      const size_t got = stream_->read(into + done, size - done);
      if (got == 0) break;
      done += got;
    }
  } catch (const Error& error) {
    fail(error.what());
  }
  if (done < size && !accepts_cut_ && !missing().empty()) fail("not readable to its end");
  return done;
}

std::string Source::all(size_t limit) {
  std::string bytes;
  size_t step = head_size;
  while (true) {
    const size_t known = bytes.size();
    bytes.resize(known + step);
    const size_t got = read(bytes.data() + known, step);
    bytes.resize(known + got);
    if (bytes.size() > limit) fail("it is larger than " + std::to_string(limit >> 20U) + " MiB");
    if (got < step) return bytes;
    step = std::max(step, bytes.size());
  }
}

void Source::fail(const std::string& what, size_t line) const {
  const std::string cut = stream_ != nullptr ? missing() : "";
  throw Error(name_ + ":" + (line == 0 ? "" : std::to_string(line) + ":") + " " + what +
              (cut.empty() ? "" : "; " + cut));
}

}  // namespace memflame
