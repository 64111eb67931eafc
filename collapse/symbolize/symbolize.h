// SPDX-License-Identifier: BSD-2-Clause
// Recording in addresses -> recording in names.
#pragma once

#include <string>

#include "core/recording.h"

namespace memflame {

struct Places;  // collapse/symbolize/places.h

struct SymbolSources {
  bool inlines = true;        // read DWARF: inlined functions and source lines
  bool debug_servers = true;  // ask the servers of DEBUGINFOD_URLS, where the user has set it
  bool files = true;          // open the files that code was mapped from
  bool code = false;          // fill recording.code and code_of, too
  std::string kallsyms_path = "/proc/kallsyms";  // "": kernel addresses get no names
  uint64_t memory_bytes = 0;  // that reading names of files may take, at most; 0 = no limit
};

// Fills recording.locations and recording.frames. Every place in a file is resolved once, however
// many stacks and processes share it, file by file, so that one file is open at a time. Addresses
// without a name are counted in recording.losses, files that could not be used are named in
// recording.meta.notes. To be called once per recording.
//
// Files and perf maps are read in a process of its own without any privilege (namer.h), a copy of
// this one that ends before this returns. When it fails at a file, that file's addresses stay
// without names, which is counted and said.
void symbolize(Recording& recording, const SymbolSources& sources);

// The same for a recording that was made with its locations and frames; what is to be named is in
// `places`.
void symbolize(Recording& recording, Places places, const SymbolSources& sources);

}  // namespace memflame
