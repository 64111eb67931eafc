// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/query/fd_vfs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace memflame {

struct FdVfs::File : sqlite3_file {
  FdVfs* vfs;

  static FdVfs& of(sqlite3_file* file) { return *static_cast<File*>(file)->vfs; }

  static int failed(FdVfs& vfs, int code) {
    if (vfs.error_ == 0) vfs.error_ = errno;
    return vfs.error_ == ENOSPC || vfs.error_ == EDQUOT ? SQLITE_FULL : code;
  }

  static int close(sqlite3_file*) { return SQLITE_OK; }
  static int read(sqlite3_file* file, void* into, int size, sqlite3_int64 at) {
    const ssize_t got = ::pread(of(file).fd_, into, static_cast<size_t>(size), at);
    if (got == size) return SQLITE_OK;
    if (got < 0) return failed(of(file), SQLITE_IOERR_READ);
    std::memset(static_cast<char*>(into) + got, 0, static_cast<size_t>(size - got));
    return SQLITE_IOERR_SHORT_READ;  // usual: the file is new
  }
  static int write(sqlite3_file* file, const void* from, int size, sqlite3_int64 at) {
    const auto* bytes = static_cast<const char*>(from);
    while (size > 0) {
      const ssize_t done = ::pwrite(of(file).fd_, bytes, static_cast<size_t>(size), at);
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) return failed(of(file), SQLITE_IOERR_WRITE);
      bytes += done;
      at += done;
      size -= static_cast<int>(done);
    }
    return SQLITE_OK;
  }
  static int truncate(sqlite3_file* file, sqlite3_int64 size) {
    return ::ftruncate(of(file).fd_, size) == 0 ? SQLITE_OK
                                                : failed(of(file), SQLITE_IOERR_TRUNCATE);
  }
  static int sync(sqlite3_file*, int) { return SQLITE_OK; }
  static int size_of(sqlite3_file* file, sqlite3_int64* size) {
    struct stat status {};
    if (::fstat(of(file).fd_, &status) != 0) return failed(of(file), SQLITE_IOERR_FSTAT);
    *size = status.st_size;
    return SQLITE_OK;
  }
  // Nobody else has the file.
  static int lock(sqlite3_file*, int) { return SQLITE_OK; }
  static int is_reserved(sqlite3_file*, int* is_locked) {
    *is_locked = 0;
    return SQLITE_OK;
  }
  static int control(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
  static int sector_size(sqlite3_file*) { return 4096; }
  static int characteristics(sqlite3_file*) { return 0; }

  static constexpr sqlite3_io_methods methods{.iVersion = 1,
                                              .xClose = close,
                                              .xRead = read,
                                              .xWrite = write,
                                              .xTruncate = truncate,
                                              .xSync = sync,
                                              .xFileSize = size_of,
                                              .xLock = lock,
                                              .xUnlock = lock,
                                              .xCheckReservedLock = is_reserved,
                                              .xFileControl = control,
                                              .xSectorSize = sector_size,
                                              .xDeviceCharacteristics = characteristics,
                                              .xShmMap = nullptr,
                                              .xShmLock = nullptr,
                                              .xShmBarrier = nullptr,
                                              .xShmUnmap = nullptr,
                                              .xFetch = nullptr,
                                              .xUnfetch = nullptr};

  static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* into, int flags, int* got) {
    if ((flags & SQLITE_OPEN_MAIN_DB) == 0) {
      sqlite3_vfs* usual = sqlite3_vfs_find(nullptr);
      return usual->xOpen(usual, name, into, flags, got);
    }
    into->pMethods = &methods;
    static_cast<File*>(into)->vfs = static_cast<FdVfs*>(vfs->pAppData);
    if (got != nullptr) *got = flags;
    return SQLITE_OK;
  }
  static int remove(sqlite3_vfs*, const char*, int) { return SQLITE_OK; }
  static int access(sqlite3_vfs*, const char*, int, int* is_there) {
    *is_there = 0;
    return SQLITE_OK;
  }
  static int full_name(sqlite3_vfs*, const char* name, int room, char* into) {
    if (std::strlen(name) >= static_cast<size_t>(room)) return SQLITE_CANTOPEN;
    std::strcpy(into, name);
    return SQLITE_OK;
  }
};

FdVfs::FdVfs(int fd) : fd_(fd) {
  const sqlite3_vfs* usual = sqlite3_vfs_find(nullptr);
  if (usual == nullptr) throw Error("SQLite has no file system");
  vfs_ = *usual;  // for temporary files, random numbers, clocks
  vfs_.iVersion = std::min(vfs_.iVersion, 2);
  vfs_.szOsFile = std::max(vfs_.szOsFile, static_cast<int>(sizeof(File)));
  vfs_.pNext = nullptr;
  vfs_.zName = "memflame-descriptor";
  vfs_.pAppData = this;
  vfs_.xOpen = File::open;
  vfs_.xDelete = File::remove;
  vfs_.xAccess = File::access;
  vfs_.xFullPathname = File::full_name;
  sqlite3_vfs_register(&vfs_, 0);
}

FdVfs::~FdVfs() { sqlite3_vfs_unregister(&vfs_); }

}  // namespace memflame
