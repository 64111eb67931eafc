// SPDX-License-Identifier: BSD-2-Clause
#include "probes/unwind/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <system_error>

#include "core/elf/build_id.h"
#include "core/error.h"
#include "core/own_path.h"
#include "probes/unwind/cache_file.h"

namespace memflame::unwind {
namespace {

template <typename Number>
void append_hex(std::string& text, Number number) {
  for (int shift = static_cast<int>(sizeof(Number)) * 8 - 4; shift >= 0; shift -= 4)
    text += "0123456789abcdef"[(number >> shift) & 0xf];
}

std::string reason(const char* what, const std::string& path) {
  return path + ": " + what + ": " + std::generic_category().message(errno);
}

// Opens one of our folders, and makes it if it is missing. Refuses a folder that another user owns
// or may write to: that user could put files into it.
UniqueFd open_own(int parent, const char* name, const std::string& path, std::string& problem) {
  ::mkdirat(parent, name, 0700);
  UniqueFd fd(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0) {
    problem = reason("cannot be opened", path);
    return {};
  }
  if (status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    problem = path + ": belongs to, or can be written by, other users";
    return {};
  }
  return fd;
}

}  // namespace

std::optional<FileStamp> file_stamp(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink == 0)
    return std::nullopt;
  const auto ns = [](const timespec& t) {
    return static_cast<int64_t>(static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 +
                                static_cast<uint64_t>(t.tv_nsec));
  };
  return FileStamp{status.st_dev,      status.st_ino,      static_cast<uint64_t>(status.st_size),
                   ns(status.st_mtim), ns(status.st_ctim), build_id(ImageBytes(fd))};
}

TableCache::TableCache(const std::string& base, CacheLimits limits) : limits_(limits) {
  if (!base.starts_with('/')) {
    problem_ = "no folder for caches: neither XDG_CACHE_HOME nor HOME is an absolute path";
    return;
  }
  UniqueFd top;
  struct stat status {};
  try {
    // Makes no folder inside another user's: that user could not use a folder that root owns.
    top = open_folder(base, true);
  } catch (const Error& error) {
    problem_ = error.what();
    return;
  }
  if (::fstat(top.get(), &status) != 0) {
    problem_ = reason("cannot be opened", base);
    return;
  }
  // Root with another user's environment: leave that user's folder alone.
  if (status.st_uid != ::geteuid()) {
    problem_ = base + ": belongs to another user";
    return;
  }
  const std::string path = base + "/memflame";
  const UniqueFd middle = open_own(top.get(), "memflame", path, problem_);
  if (middle) folder_ = open_own(middle.get(), "unwind", path + "/unwind", problem_);
}

TableCache TableCache::of_user() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return TableCache(cache);
  const char* home = std::getenv("HOME");
  return TableCache(home != nullptr && home[0] == '/' ? std::string(home) + "/.cache" : "");
}

std::string TableCache::file_name(const FileStamp& stamp) {
  std::string name;
  for (const std::byte b : stamp.build_id) append_hex(name, static_cast<uint8_t>(b));
  if (name.empty()) name = "none";
  const uint64_t numbers[] = {stamp.device, stamp.inode, stamp.size,
                              static_cast<uint64_t>(stamp.modified),
                              static_cast<uint64_t>(stamp.changed)};
  name += '-';
  append_hex(name, checksum(0, numbers, sizeof(numbers)));
  return name;
}

std::optional<Table> TableCache::load(const FileStamp& stamp) const {
  if (!folder_) return std::nullopt;
  const UniqueFd file(::openat(folder_.get(), file_name(stamp).c_str(),
                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_uid != ::geteuid() || (status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return std::nullopt;
  std::optional<Table> table = read_table(file.get(), stamp);
  if (!table) return std::nullopt;
  ::futimens(file.get(), nullptr);  // marks it as used, so that trim() removes others first
  return table;
}

bool TableCache::store(const FileStamp& stamp, const Table& table) const {
  if (!folder_) return false;
  static std::atomic<unsigned> counter = 0;
  const std::string name = ".new-" + std::to_string(::getpid()) + "-" + std::to_string(counter++);
  const UniqueFd file(::openat(folder_.get(), name.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return false;
  const bool stored =
      write_table(file.get(), stamp, table) &&
      ::renameat(folder_.get(), name.c_str(), folder_.get(), file_name(stamp).c_str()) == 0;
  if (!stored) ::unlinkat(folder_.get(), name.c_str(), 0);
  trim();
  return stored;
}

void TableCache::trim() const {
  struct CloseFolder {
    void operator()(DIR* folder) const { ::closedir(folder); }
  };
  UniqueFd again(::openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, CloseFolder> folder(again ? ::fdopendir(again.get()) : nullptr);
  if (!folder) return;
  again.release();
  struct Kept {
    timespec used;
    uint64_t size;
    std::string name;
  };
  std::vector<Kept> files;
  uint64_t bytes = 0;
  while (const dirent* entry = ::readdir(folder.get())) {
    struct stat status {};
    if (::fstatat(folder_.get(), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        S_ISDIR(status.st_mode))
      continue;
    files.push_back({status.st_mtim, static_cast<uint64_t>(status.st_size), entry->d_name});
    bytes += files.back().size;
  }
  std::sort(files.begin(), files.end(), [](const Kept& a, const Kept& b) {
    return a.used.tv_sec != b.used.tv_sec ? a.used.tv_sec < b.used.tv_sec
                                          : a.used.tv_nsec < b.used.tv_nsec;
  });
  size_t count = files.size();
  for (const Kept& file : files) {
    if (bytes <= limits_.bytes && count <= limits_.files) return;
    ::unlinkat(folder_.get(), file.name.c_str(), 0);
    bytes -= file.size;
    --count;
  }
}

FileTable table_of_file(int fd, const TableCache* cache) {
  const std::optional<FileStamp> stamp = cache == nullptr ? std::nullopt : file_stamp(fd);
  if (stamp)
    if (std::optional<Table> kept = cache->load(*stamp)) return {std::move(*kept), true};
  Table table = make_table(ImageBytes(fd));
  // Do not store the table if the file was written to meanwhile, or is not a program.
  if (stamp && !table.segments.empty() && file_stamp(fd) == stamp) cache->store(*stamp, table);
  return {std::move(table), false};
}

}  // namespace memflame::unwind
