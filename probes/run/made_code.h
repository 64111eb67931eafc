// SPDX-License-Identifier: BSD-2-Clause
// Code that a process generated itself, in no file, whose frames follow from its bytes
// (probes/unwind/copies.h).
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/recording.h"
#include "probes/unwind/copies.h"
#include "probes/unwind/tables.h"

namespace memflame {

class MadeCode {
 public:
  // Looks at the process's memory if that was not done before.
  void look(SpaceId space, pid_t pid, const Mapping& mapping, unwind::Tables& tables);
  // A part of its code was unmapped: other code may be there now.
  void forget(SpaceId space);

  struct Block {
    uint64_t start = 0;
    unwind::Tables::Place place;  // of its rows, which count from `start`
  };
  // The block with rows that holds an address.
  std::optional<Block> find(SpaceId space, uint64_t address) const;
  // The blocks of a mapping that have rows, by address.
  std::vector<Block> blocks(SpaceId space, const Mapping& mapping) const;

 private:
  unwind::Tables::Place place_of(std::vector<unwind::row> rows, unwind::Tables& tables);

  using Blocks = std::map<uint64_t, unwind::Tables::Place>;  // by start; without rows: other code
  std::map<SpaceId, Blocks> spaces_;
  std::vector<std::pair<std::vector<unwind::row>, unwind::Tables::Place>> known_;
};

}  // namespace memflame
