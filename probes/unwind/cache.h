// SPDX-License-Identifier: BSD-2-Clause
// Unwind tables kept between runs, in $XDG_CACHE_HOME/memflame/unwind (else ~/.cache/…).
//
// A table decides what a stack looks like, so it is taken only from files that no other user can
// have written, and only for exactly the file it was made from: a watched program may be hostile,
// and carry the build id of a library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/unique_fd.h"
#include "probes/unwind/table.h"

namespace memflame::unwind {

// Distinguishes a file's contents from any other's, as far as the system can.
struct FileStamp {
  uint64_t device = 0, inode = 0, size = 0;
  int64_t modified = 0, changed = 0;  // ns since 1970: mtime, ctime
  std::vector<std::byte> build_id;    // may be empty

  bool operator==(const FileStamp&) const = default;
};

// std::nullopt for files that are not cached: files that are not regular, or have been deleted.
std::optional<FileStamp> file_stamp(int fd);

// If the folder holds more, the least recently used files are removed.
struct CacheLimits {
  uint64_t bytes = uint64_t{512} << 20;
  size_t files = 1024;
};

// May be used by several threads and processes at once.
class TableCache {
 public:
  // `base`: an absolute path, the user's folder for caches. Missing folders below it are created. A
  // cache that cannot be used is empty and stores nothing.
  explicit TableCache(const std::string& base, CacheLimits limits = {});
  // In the folder that XDG_CACHE_HOME or HOME names.
  static TableCache of_user();

  // Why it cannot be used; empty if it can.
  const std::string& problem() const { return problem_; }

  // The table stored for this file; std::nullopt if there is none, or if it is damaged.
  std::optional<Table> load(const FileStamp& stamp) const;
  // False if it could not be stored.
  bool store(const FileStamp& stamp, const Table& table) const;

  static std::string file_name(const FileStamp& stamp);

 private:
  void trim() const;

  CacheLimits limits_;
  UniqueFd folder_;
  std::string problem_;
};

// The table of a file: from the cache if possible, else made and stored there. Any thread may call
// it. It reads with pread only, because the file may shrink meanwhile.
struct FileTable {
  Table table;
  bool from_cache = false;
};
FileTable table_of_file(int fd, const TableCache* cache);

}  // namespace memflame::unwind
