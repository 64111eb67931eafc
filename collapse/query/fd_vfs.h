// SPDX-License-Identifier: BSD-2-Clause
// A file system of SQLite with one file: an open descriptor. SQLite opens files by name, and
// another user could put a link there meanwhile; here no name is looked up.
#pragma once

#include <sqlite3.h>

namespace memflame {

// While it lives, databases can be opened in it, under any name. They need
// journal_mode off, because a journal would be a second file.
class FdVfs {
 public:
  // The descriptor stays the caller's. Throws Error.
  explicit FdVfs(int fd);
  ~FdVfs();
  FdVfs(const FdVfs&) = delete;
  FdVfs& operator=(const FdVfs&) = delete;

  const char* name() const { return vfs_.zName; }
  // errno of the first failed operation; 0: none
  int error() const { return error_; }

 private:
  struct File;

  int fd_;
  int error_ = 0;
  sqlite3_vfs vfs_{};
};

}  // namespace memflame
