// SPDX-License-Identifier: BSD-2-Clause
// The kernel's table of live blocks, seen from memflame: how large it is, and what is in it.
#pragma once

#include <cstdint>

#include "probes/options.h"

namespace memflame {

class BpfObject;
class OsLedger;

// How many entries the table has.
uint32_t live_entries(const ProbeOptions& options);

class BlockTable {
 public:
  explicit BlockTable(const ProbeOptions& options) : entries_(live_entries(options)) {}

  uint32_t entries() const { return entries_; }
  // Blocks that are in it, as the programs count them.
  uint64_t size(const BpfObject& object) const;
  // Takes out those of processes that have ended, once a quarter of the table is in use. Call it
  // often: it takes at most 0.5 % of a processor.
  void forget_ended(BpfObject& object, const OsLedger& os);

 private:
  uint32_t entries_;
  uint64_t forgotten_ = 0;
  uint64_t next_ns_ = 0;  // when to look again
  uint64_t ends_ = 0;     // of spaces, when it looked last
};

}  // namespace memflame
