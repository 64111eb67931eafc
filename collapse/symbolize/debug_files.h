// SPDX-License-Identifier: BSD-2-Clause
// Where the debug information of a stripped file is.
#pragma once

#include <elfutils/libdwfl.h>

#include <string>

#include "collapse/symbolize/file_source.h"
#include "core/elf/debug_file.h"

namespace memflame {

// What the search must know about the file; libdwfl hands it through as user data.
struct DebugSearch {
  FileSource* files = nullptr;
  StrippedFile file;
  bool failed = false;  // a search has found no file
};

// The file /usr/lib/debug/.build-id/xx/yyyy.debug with this very build id, in the target's root or
// ours. Empty if there is none.
SharedFd find_by_build_id(FileSource& files, const std::string& build_id);

// Callback Dwfl_Callbacks::find_debuginfo; *user_data points to a DebugSearch. Searches in this
// order: by build id in the target's root and in ours, by .gnu_debuglink in both, on debug servers.
// libdwfl's own search is not used because a link is a name chosen by the watched program, and
// libdwfl opens whatever it names, in our root.
int find_debug_file(Dwfl_Module* module, void** user_data, const char* name, Dwarf_Addr base,
                    const char* file_name, const char* debuglink, GElf_Word debuglink_crc,
                    char** found_name);

}  // namespace memflame
