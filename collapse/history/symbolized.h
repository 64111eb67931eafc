// SPDX-License-Identifier: BSD-2-Clause
// A recording without names -> the same recording with names. All chunks before its names are
// copied as they are.
#pragma once

#include <string>
#include <vector>

#include "collapse/symbolize/symbolize.h"

namespace memflame {

struct NamedFile {
  bool had_names = false;  // then `bytes` are those of the file
  std::string bytes;
  size_t places = 0;               // of code, in the stacks
  size_t nameless = 0;             // of these, without a name
  std::vector<std::string> notes;  // what is missing in the recording, and why names are
};

// `bytes`: of a recording's file; `name`: for messages. If the run did not finish, the result does
// not say that it did. Throws Error if it cannot be read, or if it is damaged and something may
// follow that place.
NamedFile with_names(std::string bytes, const std::string& name, const SymbolSources& sources);

}  // namespace memflame
