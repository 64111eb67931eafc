// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/block_table.h"

#include <algorithm>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include "probes/alloc/bpf/config.h"
#include "probes/loading/bpf_object.h"
#include "probes/processes/os_ledger.h"
#include "probes/processes/spaces.h"

namespace memflame {
namespace {

constexpr uint64_t look_interval_ns = 100'000'000;

// Processor time, because a busy machine or a hypervisor that takes the processor away makes
// looking last long without making it dear.
uint64_t thread_ns() {
  struct timespec used {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(used.tv_nsec);
}

}  // namespace

std::optional<uint64_t> rest_before_clearing(uint64_t used, uint64_t entries, uint64_t work_ns) {
  constexpr uint64_t calm_ns = 1'000'000'000, calm_rest = 200, hasty_rest = 20;
  if (used <= entries / 4) return {};
  return used <= entries / 2 ? std::max(calm_ns, calm_rest * work_ns) : hasty_rest * work_ns;
}

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
  if (now < next_ns_ || os.ends() == ends_) return;
  next_ns_ = now + look_interval_ns;
  const std::optional<uint64_t> rest = rest_before_clearing(size(object), entries_, work_ns_);
  if (!rest || now < cleared_ns_ + *rest) return;
  ends_ = os.ends();
  const uint64_t began = thread_ns();
  std::vector<bpf::block_key> gone;
  object.for_each<bpf::block_key, bpf::block>("blocks",
                                              [&](const bpf::block_key& key, const bpf::block&) {
                                                if (os.has_ended(SpaceId{key.space}))
                                                  gone.push_back(key);
                                              });
  for (const bpf::block_key& key : gone)
    if (object.erase("blocks", key)) ++forgotten_;
  work_ns_ = thread_ns() - began;
  cleared_ns_ = monotonic_ns();
}

}  // namespace memflame
