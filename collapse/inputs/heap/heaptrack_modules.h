// SPDX-License-Identifier: BSD-2-Clause
// The lists of modules in heaptrack's raw files, as mappings of one process.
//
// heaptrack writes where each file was loaded, and the address and size of each of its segments,
// but no build id. A file of this machine is taken for the recorded one if it has the same path,
// the same segments, and was not changed after the recording.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/recording.h"

namespace memflame {

class HeaptrackModules {
 public:
  // Adds modules to `recording`, and mappings to its space `space`. With `files`, files are opened,
  // to compare their segments and learn their offsets. `unchanged_since_ns` as in Module.
  HeaptrackModules(Recording& recording, SpaceId space, int64_t unchanged_since_ns, bool files)
      : recording_(recording),
        space_(space),
        unchanged_since_ns_(unchanged_since_ns),
        files_(files) {}

  // A new list begins; modules that are not in it are unloaded.
  void begin();
  // "ADDRESS OFFSET SIZE OFFSET SIZE…" of the file at `path`. False if that is not understood, or
  // if there are too many mappings.
  bool add(std::string_view path, std::string_view numbers);
  // The list is complete.
  void end();

  // The number of the list: the time of mappings and stacks, which are only compared with each
  // other.
  uint64_t list() const { return list_; }

 private:
  static constexpr size_t most_mappings = size_t{1} << 20U, most_modules = size_t{1} << 16U;

  struct Segment {
    uint64_t address = 0, size = 0;  // relative to where the file was loaded
    friend bool operator==(const Segment&, const Segment&) = default;
  };
  // A file, by its path and segments.
  struct File {
    ModuleId module;
    std::vector<std::pair<Segment, uint64_t>> code;  // with their offsets in the file
  };
  struct Range {
    size_t first = 0, count = 0;  // in the mappings of the space
  };

  const File& file(std::string_view path, const std::vector<Segment>& segments);
  void compare(Module& module, File& file, const std::vector<Segment>& segments) const;

  Recording& recording_;
  SpaceId space_;
  int64_t unchanged_since_ns_;
  bool files_;
  std::map<std::string, File, std::less<>> known_;           // by path and segments
  std::map<std::string, Range, std::less<>> loaded_, next_;  // by path and numbers
  uint64_t list_ = 0;
  bool is_open_ = false;
};

}  // namespace memflame
