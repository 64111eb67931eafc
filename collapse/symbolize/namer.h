// SPDX-License-Identifier: BSD-2-Clause
// Reads names in a process of its own, which may do nothing but that: files of watched programs,
// their debug data and their perf maps are parsed by libraries, and whoever controls a watched
// program writes what they parse.
//
// Work comes in groups (a file, the JIT code of a process), which fail one by one: when the process
// ends early, the group it was at stays without names, and another process goes on behind it.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "collapse/symbolize/file_source.h"
#include "core/recording.h"

namespace memflame {

// Where a location is: the file is that of the group.
struct NamedCode {
  LocationId location;
  CodeMapping mapping;
  uint64_t address = 0;
};

// What the process says of a group. Locations may come in several parts.
struct Names {
  std::vector<std::pair<LocationId, std::vector<Symbol>>> locations;
  std::vector<NamedCode> code;     // where it was asked for; before the names of these locations
  uint64_t unknown = 0;            // of these, how many have no name but only a place
  std::vector<std::string> notes;  // for Meta::notes
};

struct NamingWork {
  size_t groups = 0;
  uint64_t locations = 0;     // of all groups; bounds what is believed
  uint64_t memory_bytes = 0;  // that the process may take; 0 = no limit
  // In the other process: names a group with files of `files`, and hands names to `tell` as it
  // has them.
  std::function<void(size_t group, FileSource& files, const std::function<void(Names)>& tell)> name;
  // In this one: opens a file for a group; takes its names, which may be anything (throws Error
  // when they cannot be true); hears why the rest of a group stays without names.
  std::function<OpenedFile(size_t group, const FileRequest& request)> open;
  std::function<void(size_t group, Names names)> take;
  std::function<void(size_t group, const std::string& why)> give_up;
};

// Does the work and returns true when system calls were filtered. Throws nothing of its own: where
// a process cannot be started, all groups are given up.
bool name_apart(const NamingWork& work);

}  // namespace memflame
