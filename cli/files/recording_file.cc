// SPDX-License-Identifier: BSD-2-Clause
#include "cli/files/recording_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "core/own_path.h"

namespace memflame {
namespace {

class OwnFile : public HistoryFile {
 public:
  OwnFile(const std::string& path, FilePlace place, Readers readers)
      : path_(path),
        place_(std::move(place)),
        copy_place_{UniqueFd(::fcntl(place_.folder.get(), F_DUPFD_CLOEXEC, 3)),
                    place_.name + "." + std::to_string(::getpid()) + ".partial"},
        mode_(readers == Readers::owner ? 0600 : 0666) {}
  ~OwnFile() override { OwnFile::discard_copy(); }

  const std::string& name() const override { return path_; }
  int create() override { return open(file_, place_); }
  int create_copy() override { return open(copy_, copy_place_); }
  void replace() override {
    if (!rename_file(copy_place_, place_))
      throw Error("cannot write " + path_ + ": " + std::strerror(errno));
    file_ = std::move(copy_);
  }
  void discard_copy() noexcept override {
    if (!copy_) return;
    remove_file(copy_place_);
    copy_ = UniqueFd();
  }

 private:
  // The lock tells others that this file is being written; it goes with the descriptor. Not every
  // file system has locks.
  int open(UniqueFd& file, const FilePlace& place) try {
    file = create_file(place, mode_, true);
    static_cast<void>(::flock(file.get(), LOCK_EX | LOCK_NB));
    return file.get();
  } catch (const Error& error) {
    throw Error("cannot write " + path_ + ": " + error.what());
  }

  const std::string path_;
  const FilePlace place_, copy_place_;
  const mode_t mode_;
  UniqueFd file_, copy_;
};

}  // namespace

std::unique_ptr<HistoryFile> recording_file(const std::string& path, Readers readers) {
  if (!is_file(path))
    throw Error("cannot write " + path + ": a recording needs a file, not a pipe or a device",
                ExitCode::usage);
  return std::make_unique<OwnFile>(path, place_of(path), readers);
}

}  // namespace memflame
