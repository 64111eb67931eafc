// SPDX-License-Identifier: BSD-2-Clause
// The distinct code addresses of a recording, grouped by where their names can be found.
#pragma once

#include <map>
#include <vector>

#include "core/recording.h"

namespace memflame {

// One address to be named, and the entry of recording.locations that gets the name.
struct NamelessAddress {
  LocationId location;
  // Offset in the file for code of files; distance from the start of the mapping otherwise.
  uint64_t offset = 0;
};

struct Places {
  std::map<ModuleId, std::vector<NamelessAddress>> files;  // [vdso] too
  // Code of no file, by the space whose perf map may name it.
  std::map<SpaceId, std::vector<NamelessAddress>> anonymous;
  std::vector<NamelessAddress> scripts;  // functions of interpreted languages; no offset
  std::vector<NamelessAddress> kernel;
  std::vector<NamelessAddress> vsyscall;
  std::vector<NamelessAddress> unmapped;
};

// The address to look up: the one behind a call may be in the next function.
inline uint64_t lookup_address(const Pc& pc) { return pc.is_return ? pc.addr - 1 : pc.addr; }

// The space whose perf map names the JIT code of `space`: a child without a map of its own runs the
// code its parent made.
SpaceId perf_map_owner(const Recording& recording, SpaceId space);

// Fills recording.frames and, without names, recording.locations.
Places find_places(Recording& recording);

}  // namespace memflame
