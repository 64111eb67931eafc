// SPDX-License-Identifier: BSD-2-Clause
// Reads names in a process of its own that can do nothing else. The reason: libraries parse the
// files of watched programs, their debug information and their perf maps, and whoever controls a
// watched program may have written these.
//
// Work comes in groups (a file, the JIT code of a process), which fail one by one: if the process
// ends early, its current group stays without names, and another process continues behind it.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "collapse/symbolize/file_source.h"
#include "core/recording.h"

namespace memflame {

// The place of a location; its file is the group's.
struct NamedCode {
  LocationId location;
  CodeMapping mapping;
  uint64_t address = 0;
};

// A process's answer for a group. Locations may come in several parts.
struct Names {
  std::vector<std::pair<LocationId, std::vector<Symbol>>> locations;
  std::vector<NamedCode> code;     // if requested; before the names of these locations
  uint64_t unknown = 0;            // how many of these have only a place, not a name
  std::vector<std::string> notes;  // for Meta::notes
};

struct NamingWork {
  size_t groups = 0;
  uint64_t locations = 0;     // of all groups; bounds what is accepted
  uint64_t memory_bytes = 0;  // limit for the process's address space; 0 = none
  // What it may really take, beside what it shares with this process and maps of files; 0 = as much
  // as it likes. This process looks now and then, and ends it.
  uint64_t used_bytes = 0;
  // In the other process: names a group with files of `files`, and passes names to `tell` as they
  // come.
  std::function<void(size_t group, FileSource& files, const std::function<void(Names)>& tell)> name;
  // In this process: opens a file for a group; takes its names, which may be anything (throws Error
  // if they cannot be true); leaves out what is hard to read in a group that ended a process, which
  // is then tried again, or returns false; learns why the rest of a group stays without names.
  std::function<OpenedFile(size_t group, const FileRequest& request)> open;
  std::function<void(size_t group, Names names)> take;
  std::function<bool(size_t group, const std::string& why)> simplify;
  std::function<void(size_t group, const std::string& why)> give_up;
};

// Does the work; returns true if system calls were filtered. Throws nothing of its own: if a
// process cannot be started, it gives up all groups.
bool name_apart(const NamingWork& work);

}  // namespace memflame
