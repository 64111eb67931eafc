// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/spool.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "core/error.h"
#include "fleet/folders.h"
#include "fleet/spool_folder.h"

namespace memflame {
namespace {

constexpr time_t oldest_new = 600;  // seconds; a file that is being written is younger

void refuse_unsafe(int folder, const std::string& path) {
  struct stat status {};
  if (::fstat(folder, &status) != 0) throw Error(path + ": " + std::strerror(errno));
  if (status.st_uid != ::geteuid() && status.st_uid != 0)
    throw Error("the spool " + path + " belongs to another user (" + std::to_string(status.st_uid) +
                "): use a folder of memflame's own");
  if ((status.st_mode & 022U) != 0)
    throw Error("others may write to the spool " + path + ": chmod go-w " + path);
}

SharedFd open_spool(const std::string& folder) try {
  return open_path(folder, 0700);
} catch (const Error& error) {
  throw Error(std::string("cannot open the spool ") + error.what());
}

void remove_old_files(int folder) {
  const time_t now = ::time(nullptr);
  for (const std::string& name : names_in(folder)) {
    struct stat status {};
    if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        now - status.st_mtime > oldest_new)
      ::unlinkat(folder, name.c_str(), 0);
  }
}

// Removes a name when it goes.
class TemporaryName {
 public:
  TemporaryName(int folder, const std::string& name) : folder_(folder), name_(name) {}
  ~TemporaryName() { ::unlinkat(folder_, name_.c_str(), 0); }
  TemporaryName(const TemporaryName&) = delete;
  TemporaryName& operator=(const TemporaryName&) = delete;

 private:
  int folder_;
  const std::string& name_;
};

}  // namespace

Spool::Spool(const std::string& folder, uint64_t most_bytes)
    : path_(folder), most_bytes_(most_bytes) {
  folder_ = open_spool(folder);
  const int opened = folder_.get();
  refuse_unsafe(opened, folder);
  remove_old_files(open_folder(opened, "new").get());
  LockedSpool locked(opened, path_);
  locked.recount();
  if (!locked.save()) throw Error("cannot write to the spool " + folder + ": is its disk full?");
}

SpoolCounts Spool::counts() const { return LockedSpool(folder_.get(), path_).counts; }

void Spool::recount() {
  LockedSpool locked(folder_.get(), path_);
  locked.recount();
  locked.save();
}

void Spool::count_unwritten(const std::vector<std::string>& outputs) {
  LockedSpool locked(folder_.get(), path_);
  ++locked.counts.taken;
  ++locked.counts.dropped_disk;
  for (const std::string& output : outputs) {
    ++locked.of(output).taken;
    ++locked.of(output).dropped;
  }
  locked.save();
}

std::string Spool::put(const Window& window, const std::vector<std::string>& outputs) try {
  std::vector<std::string> each = outputs;
  std::sort(each.begin(), each.end());
  each.erase(std::unique(each.begin(), each.end()), each.end());
  if (each.empty()) return "it has no output";
  for (const std::string& output : each)
    if (!is_output_name(output)) return "'" + output + "' is not the name of an output";
  const std::string name = spool_name(window.head);
  if (!is_spool_name(name)) return "its id is not 32 hex digits";
  std::string why;
  try {
    why = put_bytes(name, spool_bytes(window), each);
  } catch (const Error& error) {
    why = error.what();
  }
  if (!why.empty()) count_unwritten(each);
  return why;
} catch (const Error& error) {
  return error.what();
}

// Without the lock as long as it writes, because that may take a while. Brought to the disk when it
// has its names, so that a power cut takes none of them; a file that is cut has no valid checksum.
std::string Spool::put_bytes(const std::string& name, const std::string& bytes,
                             const std::vector<std::string>& outputs) {
  if (bytes.size() > most_window_bytes) return "it is too large";
  const SharedFd fresh = open_folder(folder_.get(), "new");
  const TemporaryName temporary(fresh.get(), name);
  if (const int error = write_new_file(fresh.get(), name, bytes, 0600); error != 0)
    return "cannot write to the spool " + path_ + ": " + std::strerror(error);
  std::string why = link_to_outputs(fresh.get(), name, bytes.size(), outputs);
  if (why.empty()) sync_file(fresh.get(), name);
  return why;
}

std::string Spool::link_to_outputs(int fresh, const std::string& name, uint64_t bytes,
                                   const std::vector<std::string>& outputs) {
  LockedSpool locked(folder_.get(), path_);
  const uint64_t size = disk_bytes(bytes);
  const bool has_room = locked.make_room(size, most_bytes_);
  if (!has_room) return "it is larger than the spool may be";
  std::vector<std::string> linked;
  for (const std::string& output : outputs) {
    const SharedFd folder = locked.folder_of(output);
    if (::linkat(fresh, name.c_str(), folder.get(), name.c_str(), 0) == 0) {
      linked.push_back(output);
      continue;
    }
    const int error = errno;
    if (error == EEXIST) continue;  // it was put before
    for (const std::string& there : linked)
      ::unlinkat(locked.folder_of(there).get(), name.c_str(), 0);
    locked.save();  // what was dropped for it
    return "cannot write to the spool " + path_ + ": " + std::strerror(error);
  }
  if (linked.empty()) return "";
  ++locked.counts.taken;
  ++locked.counts.waiting;
  locked.counts.waiting_bytes += size;
  for (const std::string& output : linked) {
    ++locked.of(output).taken;
    ++locked.of(output).waiting;
  }
  locked.save();
  return "";
}

}  // namespace memflame
