// SPDX-License-Identifier: BSD-2-Clause
// Files that got probes after a process had mapped them: calls before that are missing.
#pragma once

#include <string>
#include <vector>

#include "probes/processes/spaces.h"

namespace memflame {

class LateFiles {
 public:
  // The file has just got its probes.
  void add(const Spaces& spaces, ModuleId file);
  uint64_t count() const { return count_; }
  // At the end of the run: a sentence for each file, for at most 16.
  std::vector<std::string> notes(const Spaces& spaces) const;

 private:
  struct Late {
    ModuleId file;
    uint64_t probed_ns = 0;
    int64_t resident = 0;  // of a process that had it mapped, when the probes came
  };
  static std::string in_words(const Spaces& spaces, const Late& late);

  std::vector<Late> late_;
  uint64_t count_ = 0;
};

}  // namespace memflame
