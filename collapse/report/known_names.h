// SPDX-License-Identifier: BSD-2-Clause
// The names of code that were found for an earlier report of the same run, so that only new code is
// looked up.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "collapse/symbolize/places.h"
#include "core/recording.h"

namespace memflame {

class KnownNames {
 public:
  // Gives names to the places in files that are known, and removes these places. The recording is a
  // longer one of the same run, with the same ids of files.
  void use(Recording& recording, Places& places) const;
  // `places` are those that symbolize() was asked for.
  void learn(const Recording& recording, const Places& places);

 private:
  std::map<std::pair<ModuleId, uint64_t>, SymbolList> names_;  // by place in a file
};

}  // namespace memflame
