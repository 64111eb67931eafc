// SPDX-License-Identifier: BSD-2-Clause
// The kernel's table of live blocks, seen from memflame: how large it is, and what is in it.
#pragma once

#include <cstdint>
#include <optional>

#include "probes/options/options.h"

namespace memflame {

class BpfObject;
class OsLedger;

// How many entries the table has.
uint32_t live_entries(const ProbeOptions& options);

// How long to rest before blocks of ended processes are taken out again, when that took `work_ns`
// of processor time last; none while three quarters of the table are free. It takes at most 0.5 %
// of a processor, and 5 % once half the table is in use, as blocks that find no room are lost.
std::optional<uint64_t> rest_before_clearing(uint64_t used, uint64_t entries, uint64_t work_ns);

class BlockTable {
 public:
  explicit BlockTable(const ProbeOptions& options) : entries_(live_entries(options)) {}

  uint32_t entries() const { return entries_; }
  // Blocks that are in it, as the programs count them.
  uint64_t size(const BpfObject& object) const;
  // Takes out those of processes that have ended, see rest_before_clearing(). Call it often.
  void forget_ended(BpfObject& object, const OsLedger& os);

 private:
  uint32_t entries_;
  uint64_t forgotten_ = 0;
  uint64_t next_ns_ = 0;     // when to look at the size again
  uint64_t cleared_ns_ = 0;  // when the table was looked through last
  uint64_t work_ns_ = 0;     // what that took of processor time
  uint64_t ends_ = 0;        // of spaces, by then
};

}  // namespace memflame
