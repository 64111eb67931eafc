// SPDX-License-Identifier: BSD-2-Clause
// The processes that ran while perf recorded, their threads' names and their mappings.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "collapse/inputs/perf/perf_data_file.h"
#include "core/recording.h"

namespace memflame {

// The place of an address.
struct PerfCodePlace {
  ModuleId module;      // none: in no mapping
  uint64_t offset = 0;  // in its file
};

class PerfProcesses {
 public:
  // Modules are added to the recording; `unchanged_since_ns` as in Module.
  PerfProcesses(Recording& recording, int64_t unchanged_since_ns)
      : recording_(recording), unchanged_since_ns_(unchanged_since_ns) {}

  // Takes records in order of time. False if one is damaged; records that do not concern processes
  // are skipped. Throws Error if forks copy without end.
  bool take(const PerfRecord& record);

  PerfCodePlace find(uint32_t pid, uint64_t address) const;
  const std::string& comm(uint32_t pid, uint32_t tid);  // ":812" if perf did not see it

  // Where the kernel said its text was: the reference symbol ("_text") and its address.
  struct Kernel {
    std::string symbol;
    uint64_t address = 0;
  };
  const Kernel& kernel() const { return kernel_; }

 private:
  struct Area {
    uint64_t end = 0, offset = 0;
    ModuleId module;
  };
  using Areas = std::map<uint64_t, Area>;  // by start, none overlap

  void map(uint32_t pid, uint64_t start, uint64_t length, Area area);
  bool take_map(const PerfRecord& record);
  void take_comm(PerfBytes bytes, bool exec);
  void take_fork(PerfBytes bytes, bool real);
  ModuleId module(const std::string& path, uint64_t inode, bool has_inode,
                  const std::string& build_id);
  Areas& own(uint32_t pid);

  Recording& recording_;
  int64_t unchanged_since_ns_;
  // A child shares its parent's areas until one of them changes its own.
  std::unordered_map<uint32_t, std::shared_ptr<Areas>> processes_;
  std::unordered_map<uint32_t, std::string> comms_;  // by thread
  std::map<std::tuple<std::string, uint64_t, std::string>, ModuleId> modules_;
  Kernel kernel_;
  size_t copied_ = 0;
};

}  // namespace memflame
