// SPDX-License-Identifier: BSD-2-Clause
// Recording in addresses -> recording in names.
#pragma once

#include <string>

#include "core/recording.h"

namespace memflame {

struct Places;  // collapse/symbolize/places.h

struct SymbolSources {
  bool inlines = true;        // read DWARF: inlined functions and source lines
  bool debug_servers = true;  // ask the servers of DEBUGINFOD_URLS, if the user set it
  bool files = true;          // open the files that code was mapped from
  bool code = false;          // fill recording.code and code_of, too
  std::string kallsyms_path = "/proc/kallsyms";  // "": kernel addresses get no names
  // Limits for reading names of files, see NamingWork; 0 = none.
  uint64_t memory_bytes = 0, used_bytes = 0;
};

// Fills recording.locations and recording.frames. Every place in a file is resolved once, however
// many stacks and processes share it, one file open at a time. Addresses without a name are counted
// in recording.losses, unusable files are named in recording.meta.notes. Call it once per
// recording.
//
// A second process without any privilege reads files and perf maps (namer.h); it is a copy of this
// one and ends before this returns. If it fails at a file, it reads the symbol table only. If it
// fails again, that file's addresses stay without names, which is counted. Both are reported.
void symbolize(Recording& recording, const SymbolSources& sources);

// The same for a recording that already has its locations and frames; `places` are to be named.
void symbolize(Recording& recording, Places places, const SymbolSources& sources);

}  // namespace memflame
