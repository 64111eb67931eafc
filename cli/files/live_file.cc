// SPDX-License-Identifier: BSD-2-Clause
#include "cli/files/live_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/as_caller.h"
#include "core/error.h"
#include "core/unique_fd.h"

namespace memflame {
namespace {

constexpr mode_t for_owner = 0600;

// Some file systems cannot make a file without a name, so it loses its name at once.
int nameless_file(const std::string& folder) {
  const AsCaller rights;
  const int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, for_owner);
  if (fd >= 0) return fd;
  std::string path = folder + "/memflame-XXXXXX";
  const int named = ::mkostemp(path.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(path.c_str());
  return named;
}

class PrivateFile : public HistoryFile {
 public:
  PrivateFile() {
    const char* chosen = std::getenv("TMPDIR");
    for (const char* folder : std::array<const char*, 3>{chosen, "/var/tmp", "/tmp"}) {
      if (folder == nullptr || *folder == '\0') continue;
      folder_ = folder;
      file_ = UniqueFd(nameless_file(folder_));
      if (file_) break;
    }
    if (!file_)
      throw Error("cannot write a temporary file in " + folder_ + ": " + std::strerror(errno) +
                  "; name a folder with TMPDIR, or a file with -o FILE.mfr");
    name_ = "the temporary file in " + folder_;
  }

  const std::string& name() const override { return name_; }
  int create() override { return file_.get(); }
  int create_copy() override {
    copy_ = UniqueFd(nameless_file(folder_));
    if (!copy_) throw Error("cannot write " + name_ + ": " + std::strerror(errno));
    return copy_.get();
  }
  void replace() override { file_ = std::move(copy_); }
  void discard_copy() noexcept override { copy_.reset(); }

 private:
  std::string folder_, name_;
  UniqueFd file_, copy_;
};

SharedFd duplicate(int fd) {
  const int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
  if (copy < 0) throw Error(std::string("the recording cannot be read: ") + std::strerror(errno));
  return SharedFd(copy);
}

// Each reading has a place of its own in the file.
class FileBytes : public ByteStream {
 public:
  FileBytes(SharedFd file, std::shared_ptr<const std::atomic<bool>> gives_up)
      : file_(std::move(file)), gives_up_(std::move(gives_up)) {}

  size_t read(char* into, size_t size) override {
    while (true) {
      if (*gives_up_) throw Error("memflame ends");
      const ssize_t got = ::pread(file_.get(), into, size, static_cast<off_t>(place_));
      if (got >= 0) {
        place_ += static_cast<uint64_t>(got);
        return static_cast<size_t>(got);
      }
      if (errno != EINTR) throw Error(std::string("cannot be read: ") + std::strerror(errno));
    }
  }

 private:
  SharedFd file_;
  std::shared_ptr<const std::atomic<bool>> gives_up_;
  uint64_t place_ = 0;
};

}  // namespace

class LiveFile::Observed : public HistoryFile {
 public:
  Observed(std::unique_ptr<HistoryFile> file, LiveFile& live)
      : file_(std::move(file)), live_(live) {}

  const std::string& name() const override { return file_->name(); }
  int create() override {
    const int fd = file_->create();
    live_.set(duplicate(fd));
    return fd;
  }
  int create_copy() override {
    const int fd = file_->create_copy();
    copy_ = duplicate(fd);
    return fd;
  }
  void replace() override {
    file_->replace();
    live_.set(std::exchange(copy_, {}));
  }
  void discard_copy() noexcept override {
    copy_ = {};
    file_->discard_copy();
  }

 private:
  std::unique_ptr<HistoryFile> file_;
  LiveFile& live_;
  SharedFd copy_;
};

std::unique_ptr<HistoryFile> private_recording() { return std::make_unique<PrivateFile>(); }

std::unique_ptr<HistoryFile> LiveFile::observed(std::unique_ptr<HistoryFile> file) {
  return std::make_unique<Observed>(std::move(file), *this);
}

void LiveFile::set(SharedFd file) {
  const std::lock_guard lock(mutex_);
  file_ = std::move(file);
}

SharedFd LiveFile::get() const {
  const std::lock_guard lock(mutex_);
  return file_;
}

uint64_t LiveFile::size() const {
  const SharedFd file = get();
  struct stat status {};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) return 0;
  return static_cast<uint64_t>(status.st_size);
}

Source LiveFile::open(const std::string& name,
                      std::shared_ptr<const std::atomic<bool>> gives_up) const {
  SharedFd file = get();
  if (file.get() < 0) throw Error("nothing is recorded yet");
  return Source::of_stream(
      [file = std::move(file), gives_up = std::move(gives_up)] {
        return std::make_unique<FileBytes>(file, gives_up);
      },
      name);
}

}  // namespace memflame
