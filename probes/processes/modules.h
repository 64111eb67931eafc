// SPDX-License-Identifier: BSD-2-Clause
// The files from which code of watched processes is mapped; also the vdso and memory without a
// file.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/recording.h"
#include "core/unique_fd.h"
#include "probes/system/procfs.h"

namespace memflame {

class Modules {
 public:
  // One id for each file: device, inode and its generation, and path. If the generation is unknown
  // (/proc/PID/maps does not have it), the last file with that inode and path is meant.
  ModuleId intern(const MapsLine& line);
  // Opens a program or library that is not mapped yet; an empty id if it is neither.
  ModuleId of_file(const std::string& path);
  // Opens the file behind a mapping of a process, once. `mapped_ns`: when it was mapped
  // (CLOCK_MONOTONIC), 0 = not known. Returns the file that it is: another one than `id` if that
  // was gone before it was opened, and has left its inode and its path to a newer file.
  ModuleId open(ModuleId id, pid_t pid, uint64_t start, uint64_t end, uint64_t mapped_ns = 0);

  const Module& operator[](ModuleId id) const { return modules_[id.index]; }
  size_t size() const { return modules_.size(); }

  // Files with code that were opened since the last call.
  std::vector<ModuleId> opened() { return std::exchange(opened_, {}); }

  const std::vector<Module>& all() const { return modules_; }  // by id
  // All of them, by id. Call nothing afterwards.
  std::vector<Module> release() { return std::move(modules_); }

 private:
  std::vector<Module> modules_{Module{}};
  ModuleId add(const Module& like, uint64_t generation);
  bool is_file_of(int fd, ModuleId id);
  void keep_open(ModuleId id, UniqueFd file);

  std::vector<uint64_t> generations_{0};  // by id; 0 = unknown
  std::vector<int64_t> mapped_ns_{0};     // by id: when it was mapped first (CLOCK_REALTIME)
  std::map<std::tuple<uint64_t, uint64_t, std::string>, std::vector<ModuleId>> ids_;
  std::vector<ModuleId> opened_;
};

}  // namespace memflame
