// SPDX-License-Identifier: BSD-2-Clause
#include "core/own_path.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <deque>
#include <sstream>

#include "core/as_caller.h"
#include "core/caller.h"
#include "core/error.h"

namespace memflame {
namespace {

constexpr int most_links = 40;  // the kernel's own limit for a path (MAXSYMLINKS)
constexpr int folder_flags = O_PATH | O_DIRECTORY | O_CLOEXEC;

[[noreturn]] void fail(const std::string& path) { throw Error(path + ": " + denial_text(errno)); }

bool is_on_procfs(int folder) {
  struct statfs status {};
  return ::fstatfs(folder, &status) == 0 && status.f_type == PROC_SUPER_MAGIC;
}

// Walks along a path. When it follows a link, the link's target replaces it in the path ahead.
class Walk {
 public:
  Walk(const std::string& path, bool make) : path_(path), make_(make) {
    if (path.empty()) throw Error("an empty file name");
    go_on_with(path);
  }

  FilePlace run(bool follow_last) {
    while (!ahead_.empty()) {
      place_.name = std::move(ahead_.front());
      ahead_.pop_front();
      const std::optional<struct stat> status = place_.status();
      if (status && S_ISLNK(status->st_mode) && (!ahead_.empty() || follow_last)) {
        follow(*status);
      } else if (ahead_.empty() && place_.name != ".") {
        return std::move(place_);
      } else {
        if (!status && make_) make_folder();
        enter(O_NOFOLLOW);
      }
    }
    place_.name = ".";
    return std::move(place_);
  }

 private:
  void go_on_with(const std::string& path) {
    if (path.starts_with('/') || !place_.folder) {
      place_.folder.reset(::open(path.starts_with('/') ? "/" : ".", folder_flags));
      if (!place_.folder) fail(path_);
    }
    std::deque<std::string> parts;
    std::istringstream text(path);
    for (std::string part; std::getline(text, part, '/');)
      if (!part.empty()) parts.push_back(part);
    if (path.ends_with('/')) parts.emplace_back(".");
    ahead_.insert(ahead_.begin(), parts.begin(), parts.end());
  }

  void follow(const struct stat& link) {
    if (!may_follow(place_, link))
      throw Error(path_ + ": '" + place_.name + "' is a link of " + name_of_user(link.st_uid) +
                  ", which memflame does not follow: name the file it leads to");
    if (++links_ > most_links) {
      errno = ELOOP;
      fail(path_);
    }
    // The kernel resolves a link of procfs to an open file or process, not by the link's text.
    if (is_on_procfs(place_.folder.get())) return enter(0);
    std::array<char, PATH_MAX> target{};
    const ssize_t length =
        ::readlinkat(place_.folder.get(), place_.name.c_str(), target.data(), target.size() - 1);
    if (length <= 0) fail(path_);
    go_on_with({target.data(), static_cast<size_t>(length)});
  }

  void enter(int flags) {
    UniqueFd next(::openat(place_.folder.get(), place_.name.c_str(), folder_flags | flags));
    if (!next) fail(path_);
    place_.folder = std::move(next);
  }

  void make_folder() {
    struct stat above {};
    if (::fstat(place_.folder.get(), &above) == 0 &&
        (above.st_uid == ::geteuid() || above.st_uid == 0))
      ::mkdirat(place_.folder.get(), place_.name.c_str(), 0700);  // enter() says whether it worked
  }

  const std::string& path_;
  bool make_;
  FilePlace place_;
  std::deque<std::string> ahead_;
  int links_ = 0;
};

}  // namespace

bool is_trusted(uid_t user) { return user == ::geteuid() || user == 0 || user == caller().uid; }

std::optional<struct stat> FilePlace::status() const {
  struct stat status {};
  if (::fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) return status;
  if (errno != ENOENT) fail(name);
  return std::nullopt;
}

bool may_follow(const FilePlace& place, const struct stat& link) {
  if (link.st_uid == ::geteuid() || link.st_uid == caller().uid) return true;
  struct stat folder {};
  if (::fstat(place.folder.get(), &folder) != 0) return false;
  if (link.st_uid == 0 && folder.st_uid == 0) return true;
  return is_trusted(folder.st_uid) && (folder.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

FilePlace place_of(const std::string& path, bool follow_last) {
  const AsCaller rights;
  return Walk(path, false).run(follow_last);
}

void refuse_foreign(const FilePlace& place, const struct stat& status) {
  if (is_trusted(status.st_uid)) return;
  struct stat folder {};
  if (S_ISREG(status.st_mode) && ::fstat(place.folder.get(), &folder) == 0 &&
      folder.st_uid == status.st_uid)
    return;
  const std::string kind = S_ISLNK(status.st_mode)    ? "link"
                           : S_ISFIFO(status.st_mode) ? "pipe"
                           : S_ISDIR(status.st_mode)  ? "folder"
                                                      : "file";
  throw Error("it is a " + kind + " of " + name_of_user(status.st_uid) +
              ": remove it, or choose another name");
}

// Nothing is removed unless it was there before and is ours. In a folder that several users may
// write to (mode 1777), nobody else can put another file in place of such a one; what is put where
// nothing was is met by O_EXCL.
UniqueFd create_file(const FilePlace& place, mode_t mode, bool reads) {
  const AsCaller rights;
  if (const std::optional<struct stat> status = place.status()) {
    refuse_foreign(place, *status);
    ::unlinkat(place.folder.get(), place.name.c_str(), 0);
  }
  UniqueFd file(::openat(place.folder.get(), place.name.c_str(),
                         (reads ? O_RDWR : O_WRONLY) | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                         mode));
  if (!file) throw Error(denial_text(errno));
  return file;
}

bool rename_file(const FilePlace& from, const FilePlace& to) {
  const AsCaller rights;
  if (const std::optional<struct stat> status = to.status()) refuse_foreign(to, *status);
  return ::renameat(from.folder.get(), from.name.c_str(), to.folder.get(), to.name.c_str()) == 0;
}

bool remove_file(const FilePlace& place) {
  const AsCaller rights;
  return ::unlinkat(place.folder.get(), place.name.c_str(), 0) == 0;
}

UniqueFd open_folder(const std::string& path, bool make) {
  const FilePlace place = Walk(path + "/", make).run(true);
  UniqueFd folder(::openat(place.folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) fail(path);
  return folder;
}

}  // namespace memflame
