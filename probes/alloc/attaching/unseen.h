// SPDX-License-Identifier: BSD-2-Clause
// Processes that were watched although none of their files has functions to probe.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/recording.h"
#include "probes/alloc/options.h"

namespace memflame {

struct Unseen {
  size_t seen = 0;                     // processes with an allocator that was probed
  std::vector<std::string> processes;  // the others: "server (1234)", each once
  std::vector<std::string> files;      // what was searched in those
  std::vector<std::string> go;  // processes with code of Go, which has an allocator of its own
};

// Findings about the files with code.
using FileFact = std::function<bool(const Module&)>;
struct FileFacts {
  FileFact allocates;  // functions to probe were found
  FileFact is_go;      // see go_code.h
};

// A process without known files, or with its loader only, is in no list.
Unseen find_unseen(const Recording& recording, const FileFacts& facts);

// Throws Error if nothing could be seen at all; otherwise returns a note, or "" if there is nothing
// to say.
std::string unseen_in_words(const Unseen& unseen, const AllocOptions& options);

}  // namespace memflame
