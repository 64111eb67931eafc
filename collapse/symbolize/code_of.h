// SPDX-License-Identifier: BSD-2-Clause
// Fills Recording::code and code_of: the file and address of each place in a recording.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "collapse/symbolize/places.h"
#include "core/recording.h"

namespace memflame {

class CodeOf {
 public:
  // Forgets what the recording has, or adds to it.
  enum class Begin : uint8_t { anew, beside };
  explicit CodeOf(Recording& recording, Begin begin = Begin::anew);

  // Sets the place of a location: the mapping that its byte is in, and the address there. Does
  // nothing if the mapping does not hold the address, as in a damaged file.
  void set(LocationId location, ModuleId module, const CodeMapping& mapping, uint64_t address);

  // Sets the places in a file that could not be read: offsets, in one mapping of all their pages.
  void set_offsets(ModuleId module, const std::vector<NamelessAddress>& targets);

 private:
  Recording& recording_;
  std::vector<bool> is_program_;  // by ModuleId::index: processes were started from it
};

}  // namespace memflame
