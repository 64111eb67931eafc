// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/history/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "core/error.h"

namespace memflame {
namespace {

class PathFile : public HistoryFile {
 public:
  explicit PathFile(const std::string& path) : path_(path), copy_path_(path + ".tmp") {}
  ~PathFile() override {
    PathFile::discard_copy();
    if (file_ >= 0) ::close(file_);
  }

  const std::string& name() const override { return path_; }
  int create() override { return file_ = open(path_); }
  int create_copy() override {
    discard_copy();
    return copy_ = open(copy_path_);
  }
  void replace() override {
    if (std::rename(copy_path_.c_str(), path_.c_str()) != 0) fail(path_);
    ::close(std::exchange(file_, std::exchange(copy_, -1)));
  }
  void discard_copy() noexcept override {
    if (copy_ < 0) return;
    ::close(std::exchange(copy_, -1));
    ::unlink(copy_path_.c_str());
  }

 private:
  [[noreturn]] static void fail(const std::string& path) {
    throw Error("cannot write " + path + ": " + std::strerror(errno));
  }
  static int open(const std::string& path) {
    ::unlink(path.c_str());
    constexpr mode_t owner_only = 0600;
    const int file =
        ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, owner_only);
    if (file < 0) fail(path);
    return file;
  }

  const std::string path_, copy_path_;
  int file_ = -1, copy_ = -1;
};

}  // namespace

std::unique_ptr<HistoryFile> history_file(const std::string& path) {
  return std::make_unique<PathFile>(path);
}

}  // namespace memflame
