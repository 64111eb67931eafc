// SPDX-License-Identifier: BSD-2-Clause
// Which blocks keep memory from going back to the system. The heap shrinks only from its end, and a
// mapping goes as a whole: a few blocks in the wrong place hold all of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "probes/system/procfs.h"
#include "probes/waste/chunk_slack.h"

namespace memflame {

// A heap, or a mapping, that is mostly free but cannot go.
struct PinnedRange {
  std::string name;                      // "the heap", "a mapping"
  uint64_t bytes = 0, live = 0;          // of it; in live blocks
  uint64_t blocks = 0, block_bytes = 0;  // that pin it
};

struct Pins {
  std::vector<bool> is_pin;           // of each block
  std::vector<PinnedRange> ranges{};  // the largest first
};

// `maps`: the process's mappings; `blocks` by address. These blocks pin:
//   the heap ([heap]), less than half of which is live: those in the last MiB up to the end of its
//   last block
//   an anonymous mapping of a MiB or more, less than 5 % of which is live: all in it
Pins pins_of(std::span<const MapsLine> maps, std::span<const WasteBlock> blocks);

}  // namespace memflame
