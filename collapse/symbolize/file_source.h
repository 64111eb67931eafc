// SPDX-License-Identifier: BSD-2-Clause
// Opens the files that names are read from. This is apart from reading them, because malicious
// contents may have taken over the process that reads (namer.h).
#pragma once

#include <chrono>
#include <string>

#include "core/recording.h"

namespace memflame {

// How long debug servers (DEBUGINFOD_URLS) may hold up the whole run. One slow server must not keep
// a picture from being written.
struct DebuginfodBudget {
  std::chrono::steady_clock::duration left = std::chrono::seconds(60);
  bool exhausted() const { return left <= left.zero(); }
};

// A file that belongs to one module, without a path: the process that opens it makes the path.
struct FileRequest {
  enum class Kind : uint8_t {
    mapped,    // the file that was mapped
    build_id,  // by `text`, a build id in lower-case hex, under /usr/lib/debug/.build-id
    link,      // by `text`, a name without folder: beside the file, and under /usr/lib/debug
    server,    // by `text`, a build id, from debug servers
  };
  Kind kind = Kind::mapped;
  std::string text;
  uint32_t place = 0;  // which of the places where it may be, from 0 on
};

enum class Found : uint8_t {
  file,
  nothing,   // not in this place
  not_elf,   // something that is not an ELF file, which is not handed out
  no_place,  // there are no more places to look in, or the request is not valid
};

struct OpenedFile {
  Found found = Found::no_place;
  SharedFd file;
};

class FileSource {
 public:
  FileSource() = default;
  virtual ~FileSource() = default;
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;
  virtual OpenedFile open(const FileRequest& request) = 0;
};

enum class DebugServerFile : uint8_t { debug, program };

// Opens files of a module with the rights of this process. It opens ELF files only, as a request
// may come from a user with fewer rights. Both arguments must outlive this.
class OwnFiles : public FileSource {
 public:
  OwnFiles(const Module& module, DebuginfodBudget& budget) : module_(module), budget_(budget) {}
  OpenedFile open(const FileRequest& request) override;

 private:
  SharedFd mapped();
  OpenedFile in_place(const FileRequest& request) const;
  SharedFd from_server(DebugServerFile what, const std::string& build_id);

  const Module& module_;
  DebuginfodBudget& budget_;
};

}  // namespace memflame
