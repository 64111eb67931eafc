// SPDX-License-Identifier: BSD-2-Clause
// The code of a process that bytehound recorded: copies of /proc/PID/maps, and of the files that
// were mapped. Names come from these copies, so they do not depend on the machine that reads.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collapse/inputs/heap/bytehound_bytes.h"
#include "collapse/inputs/maps_text.h"
#include "core/recording.h"

namespace memflame {

class BytehoundCode {
 public:
  // Adds modules to `recording`, and mappings to its space `space`. Files of this machine must not
  // have changed after `unchanged_since_ns`.
  BytehoundCode(Recording& recording, SpaceId space, int64_t unchanged_since_ns)
      : recording_(recording), space_(space), unchanged_since_ns_(unchanged_since_ns) {}

  // A file, whose contents are the next `size` bytes. Files that are neither the list of mappings
  // nor ELF files are passed over.
  void take_file(const std::string& path, uint64_t size, BytehoundBytes& bytes);

  // The number of the list of mappings: the time of mappings and stacks.
  uint64_t list() const { return list_; }
  // Whether an address is in bytehound's own library.
  bool is_of_tool(uint64_t address) const;

  uint64_t damaged_lines() const { return damaged_lines_; }
  uint64_t files_left_out() const { return files_left_out_; }  // copies for which there is no room

 private:
  static constexpr uint64_t most_copied = uint64_t{2} << 30U, longest_list = uint64_t{64} << 20U;
  static constexpr size_t most_mappings = size_t{1} << 20U;

  void take_list(std::string_view text);
  void map(const MapsRow& row, std::map<uint64_t, size_t>& mapped);
  ModuleId module_of(const MapsRow& row);
  void copy(const std::string& path, uint64_t size, BytehoundBytes& bytes);
  static void use(Module& module, const SharedFd& file);

  Recording& recording_;
  SpaceId space_;
  int64_t unchanged_since_ns_;
  std::map<std::pair<std::string, uint64_t>, ModuleId> modules_;  // by path and inode
  std::map<std::string, SharedFd, std::less<>> copies_;           // by path
  std::map<uint64_t, size_t> mapped_;                             // start -> index of the mapping
  std::map<uint64_t, uint64_t> tool_;                             // start -> end
  uint64_t list_ = 0, copied_ = 0;
  uint64_t damaged_lines_ = 0, files_left_out_ = 0;
};

}  // namespace memflame
