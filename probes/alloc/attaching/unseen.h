// SPDX-License-Identifier: BSD-2-Clause
// Finds watched processes that have no file with functions to probe.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/recording.h"
#include "probes/alloc/settings/options.h"

namespace memflame {

struct Unseen {
  size_t seen = 0;                     // processes with an allocator that was probed
  std::vector<std::string> processes;  // the others: "server (1234)", each once
  std::vector<std::string> files;      // the files of `processes` that were searched
  std::vector<std::string> go;         // processes with Go code, which has an allocator of its own
  std::vector<std::string> valgrind;   // processes of valgrind's tools, see core/elf/valgrind.h
};

// What is known of a file with code.
using FileFact = std::function<bool(const Module&)>;
struct FileFacts {
  FileFact allocates;  // functions to probe were found
  FileFact is_go;      // see go_code.h
  FileFact is_valgrind;
};

// Processes of which something was not seen, each once.
size_t count_of(const Unseen& unseen);

// A process without known files, or with only itself and its loader, is not listed.
Unseen find_unseen(const Recording& recording, const FileFacts& facts);

// A note on what could not be seen; "" if there is nothing to say. Throws Error if nothing could be
// seen at all, unless memflame ran a command (`is_command`): that has a result of its own.
std::string unseen_in_words(const Unseen& unseen, const AllocOptions& options, bool is_command);
// A note on programs under valgrind; "" if there are none.
std::string valgrind_in_words(const Unseen& unseen);

}  // namespace memflame
