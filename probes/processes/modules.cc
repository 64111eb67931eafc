// SPDX-License-Identifier: BSD-2-Clause
#include "probes/processes/modules.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>
#include <ctime>
#include <string_view>
#include <utility>

#include "core/clock.h"
#include "core/elf/build_id.h"
#include "core/elf/image.h"

namespace memflame {
namespace {

constexpr std::string_view deleted = " (deleted)";
constexpr int64_t ns_per_s = 1'000'000'000;

bool is_inode(int fd, uint64_t inode) {
  struct stat status {};
  // Devices are not compared: an overlay shows another device in maps than in stat.
  return fd >= 0 && ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
         (inode == 0 || status.st_ino == inode);
}

// Tells apart files that had the same inode one after the other: a deleted file's inode is used
// again. 0 if the file system does not say.
uint64_t generation_of(int fd) {
  unsigned int generation = 0;  // the kernel writes an int, whatever the macro says
  return ::ioctl(fd, FS_IOC_GETVERSION, &generation) == 0 ? generation : 0;
}

// CLOCK_REALTIME at a time of CLOCK_MONOTONIC.
int64_t as_real_time(uint64_t monotonic) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const int64_t ago = now.tv_sec * ns_per_s + now.tv_nsec - static_cast<int64_t>(monotonic);
  return real_time_ns() - ago;
}

// When a file came to be or was written last: by a clock that is a little late. Deleting, renaming
// or linking it changes its ctime only, which is asked where the file system knows no birth.
int64_t written_ns(int fd) {
  struct statx status {};
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &status) != 0) return 0;
  const auto ns = [](const statx_timestamp& time) {
    return int64_t{time.tv_sec} * ns_per_s + int64_t{time.tv_nsec};
  };
  const int64_t changed = ns(status.stx_ctime);
  const int64_t written = std::min(ns(status.stx_mtime), changed);  // anybody may set an mtime
  if ((status.stx_mask & STATX_BTIME) != 0) return std::max(written, ns(status.stx_btime));
  return status.stx_nlink == 0 ? written : changed;
}

}  // namespace

ModuleId Modules::intern(const MapsLine& line) {
  std::string path = line.path;
  if (path.ends_with(deleted)) path.resize(path.size() - deleted.size());
  std::vector<ModuleId>& known = ids_[{line.device, line.inode, path}];
  if (line.generation == 0 && !known.empty()) return known.back();
  for (const ModuleId each : known) {
    uint64_t& generation = generations_[each.index];
    if (generation == 0) generation = line.generation;
    if (generation == line.generation) return each;
  }
  Module module;
  module.path = path;
  module.device = line.device;
  module.inode = line.inode;
  if (path == "[vdso]")
    module.kind = ModuleKind::vdso;
  else if (path.empty() || path[0] != '/' || line.inode == 0)
    module.kind = ModuleKind::anonymous;
  return add(module, line.generation);
}

ModuleId Modules::add(const Module& like, uint64_t generation) {
  const ModuleId id{static_cast<uint32_t>(modules_.size())};
  modules_.push_back(like);
  generations_.push_back(generation);
  mapped_ns_.push_back(0);
  ids_[{like.device, like.inode, like.path}].push_back(id);
  return id;
}

// A path that is opened late may lead to another file by then.
bool Modules::is_file_of(int fd, ModuleId id) {
  if (!is_inode(fd, modules_[id.index].inode)) return false;
  const uint64_t generation = generation_of(fd);
  uint64_t& wanted = generations_[id.index];
  if (generation == 0 || wanted == 0) {
    if (wanted == 0) wanted = generation;
    return true;
  }
  return generation == wanted;
}

// The build id tells later readers of a recording whether they have the same file.
void Modules::keep_open(ModuleId id, UniqueFd file) {
  Module& module = modules_[id.index];
  module.build_id = build_id_of(file.get());
  module.file = SharedFd(file.release());
  opened_.push_back(id);
}

ModuleId Modules::of_file(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!is_inode(file.get(), 0) || ::fstat(file.get(), &status) != 0) return {};
  if (elf_class(file.get()) == ElfClass::none) return {};
  std::array<char, PATH_MAX> name{};  // as it will be in the log of mappings
  const ssize_t length =
      ::readlink(("/proc/self/fd/" + std::to_string(file.get())).c_str(), name.data(), name.size());
  if (length <= 0 || static_cast<size_t>(length) >= name.size()) return {};
  MapsLine line;
  line.device = status.st_dev;
  line.inode = status.st_ino;
  line.path.assign(name.data(), static_cast<size_t>(length));
  const ModuleId id = intern(line);
  Module& module = modules_[id.index];
  if (module.file.get() >= 0 || !is_file_of(file.get(), id)) return id;
  keep_open(id, std::move(file));
  return id;
}

ModuleId Modules::open(ModuleId id, pid_t pid, uint64_t start, uint64_t end, uint64_t mapped_ns) {
  if (modules_[id.index].file.get() >= 0 || modules_[id.index].kind != ModuleKind::file) return id;
  int64_t& first_ns = mapped_ns_[id.index];
  if (first_ns == 0 && mapped_ns != 0) first_ns = as_real_time(mapped_ns);
  char range[64];
  std::snprintf(range, sizeof(range), "map_files/%lx-%lx", start, end);
  // The mapping itself is the surest, also for a deleted or replaced file, but needs CAP_SYS_ADMIN
  // or CAP_CHECKPOINT_RESTORE and a process that still lives.
  const std::string path = modules_[id.index].path;
  std::vector<std::string> candidates{proc_path(pid, range), proc_path(pid, "root") + path};
  if (::access(proc_path(pid, "root").c_str(), F_OK) == 0 && !has_our_root(pid))
    modules_[id.index].root = proc_path(pid, "root");
  else
    candidates.push_back(path);
  for (const std::string& candidate : candidates) {
    UniqueFd file(::open(candidate.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!is_file_of(file.get(), id)) continue;
    if (elf_class(file.get()) == ElfClass::none) {
      modules_[id.index].kind =
          ModuleKind::anonymous;  // code that a JIT wrote into a file or memfd
      return id;
    }
    // No file that came into its place later is the one that was mapped.
    const int64_t written = written_ns(file.get()), first = mapped_ns_[id.index];
    if (first != 0 && written > first) {
      if (mapped_ns == 0 || written > as_real_time(mapped_ns)) continue;
      id = add(Module(modules_[id.index]), generations_[id.index]);
      mapped_ns_[id.index] = as_real_time(mapped_ns);
    }
    keep_open(id, std::move(file));
    return id;
  }
  // Whoever needs names opens what has its path then.
  if (mapped_ns_[id.index] != 0) modules_[id.index].unchanged_since_ns = mapped_ns_[id.index];
  return id;
}

}  // namespace memflame
