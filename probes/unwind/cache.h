// SPDX-License-Identifier: BSD-2-Clause
// Unwind tables kept between runs, in $XDG_CACHE_HOME/memflame/unwind (else ~/.cache/…).
//
// A table decides what a stack looks like, so it is taken only from files that no other user can
// have written, and only for the very file that it was made of: a program under watch may be
// hostile, and carry the build id of a library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probes/unique_fd.h"
#include "probes/unwind/table.h"

namespace memflame::unwind {

// Tells the contents of a file apart from those of any other, as far as the system can.
struct FileStamp {
  uint64_t device = 0, inode = 0, size = 0;
  int64_t modified = 0, changed = 0;  // ns since 1970: mtime, ctime
  std::vector<std::byte> build_id;    // may be empty

  bool operator==(const FileStamp&) const = default;
};

// std::nullopt for what need not be kept: no regular file, or one that no folder names any more.
std::optional<FileStamp> file_stamp(int fd);

// When the folder holds more, the files go that were not used for longest.
struct CacheLimits {
  uint64_t bytes = uint64_t{512} << 20;
  size_t files = 1024;
};

// May be used by several threads and processes at once.
class TableCache {
 public:
  // `base`: an absolute path, the user's folder for caches. The folders below it are made when they
  // are missing. A cache that cannot be used holds nothing and takes nothing.
  explicit TableCache(const std::string& base, CacheLimits limits = {});
  // At the place that the environment says.
  static TableCache of_user();

  // Why it cannot be used; empty when it can.
  const std::string& problem() const { return problem_; }

  // The table kept for this file; nothing that is not exactly as it was stored is returned.
  std::optional<Table> load(const FileStamp& stamp) const;
  // False when it could not be kept.
  bool store(const FileStamp& stamp, const Table& table) const;

  static std::string file_name(const FileStamp& stamp);

 private:
  void trim() const;

  CacheLimits limits_;
  UniqueFd folder_;
  std::string problem_;
};

// The table of a file: from the cache if there is one and it has it, else made and stored there.
// From any thread. Reads with pread only: the file may shrink meanwhile.
struct FileTable {
  Table table;
  bool from_cache = false;
};
FileTable table_of_file(int fd, const TableCache* cache);

}  // namespace memflame::unwind
