// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/block_table.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "probes/alloc/bpf/config.h"
#include "probes/loading/bpf_object.h"
#include "probes/processes/os_ledger.h"
#include "probes/processes/spaces.h"

namespace memflame {
namespace {

constexpr uint64_t interval_ns = 1'000'000'000;
constexpr uint64_t rest_per_work = 200;

}  // namespace

// The table's hash buckets take 16 bytes per possible entry from the start; the entries themselves
// are allocated as blocks come. So the number of entries is a power of two whose buckets take at
// most 1/256 of the memory.
uint32_t live_entries(const ProbeOptions& options) {
  if (options.max_live != 0) return options.max_live;
  std::ifstream file("/proc/meminfo");
  std::string word;
  uint64_t kib = 0;
  file >> word >> kib;
  uint64_t entries = 1 << 16;
  while (entries < (4U << 20) && entries * 2 * 16 <= kib * 1024 / 256) entries *= 2;
  return static_cast<uint32_t>(entries);
}

uint64_t BlockTable::size(const BpfObject& object) const {
  const bpf::counters counted = object.counters();
  const uint64_t left =
      counted.live_full_events + counted.freed + counted.unseen_frees + forgotten_;
  // Counters of several processors are not read in one moment.
  return counted.events - std::min(counted.events, left);
}

void BlockTable::forget_ended(BpfObject& object, const OsLedger& os) {
  const uint64_t now = monotonic_ns();
  if (now < next_ns_) return;
  next_ns_ = now + interval_ns;
  if (os.ends() == ends_ || size(object) <= entries_ / 4) return;
  ends_ = os.ends();
  std::vector<bpf::block_key> gone;
  object.for_each<bpf::block_key, bpf::block>("blocks",
                                              [&](const bpf::block_key& key, const bpf::block&) {
                                                if (os.has_ended(SpaceId{key.space}))
                                                  gone.push_back(key);
                                              });
  for (const bpf::block_key& key : gone)
    if (object.erase("blocks", key)) ++forgotten_;
  next_ns_ = std::max(next_ns_, now + rest_per_work * (monotonic_ns() - now));
}

}  // namespace memflame
