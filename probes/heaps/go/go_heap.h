// SPDX-License-Identifier: BSD-2-Clause
// The heap profile that the runtime of a Go program keeps for itself, read from outside: what is in
// use, and all that was allocated since the program began, by stack. Nothing is written, stopped or
// probed.
//
// Each sampled stack has a bucket {next, allnext, type, hash, size, number of addresses}, the
// addresses, and figures: those published, and those of three cycles of the collector to come.
// Buckets are never freed. Figures are as runtime.MemProfile() would return them at this moment.
//
// Source: runtime/mprof.go of Go 1.19 to 1.25.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/elf/go_version.h"

namespace memflame {

inline constexpr GoVersion oldest_go_heap{1, 19};

// Fills `to` with the memory of the process; false if it cannot be read.
using ReadMemory = std::function<bool(uint64_t address, std::span<std::byte> to)>;

// Addresses in the process, as GoPlaces has them for the file.
struct GoAddresses {
  std::vector<uint64_t> buckets, cycle, rate;
  uint64_t marker_start = 0, marker_end = 0;
};

// Sampled figures, of blocks of one size that one stack allocated.
struct GoBucket {
  std::vector<uint64_t> pcs;          // return addresses, innermost first
  uint64_t size = 0;                  // of a block, in bytes
  uint64_t allocated = 0, freed = 0;  // blocks
  uint64_t allocated_bytes = 0, freed_bytes = 0;
  // Blocks allocated since the collection that the figures are of. Some may be garbage. They change
  // all the time, so that readings are compared without them.
  uint64_t unpublished = 0;
  friend bool operator==(const GoBucket& a, const GoBucket& b) {
    return a.pcs == b.pcs && a.size == b.size && a.allocated == b.allocated && a.freed == b.freed &&
           a.allocated_bytes == b.allocated_bytes && a.freed_bytes == b.freed_bytes;
  }
};

struct GoHeap {
  uint64_t rate = 0;  // bytes from one sample to the next, on average; 0: it is switched off
  std::vector<GoBucket> buckets;
  // The collector has not published figures yet, so that those to come are taken: frees are not in
  // them.
  bool is_early = false;
  unsigned readings = 0;  // until two in a row were equal
  uint64_t head = 0;      // the candidate of GoAddresses::buckets that has the list; 0: it is empty
};

// Throws Error if it is not found.
uint64_t go_rate(const ReadMemory& read, const GoAddresses& addresses);

// Reads until two readings are equal, so that no figure is half changed. Throws Error if there is
// no such list, or if the program changes it too often.
GoHeap read_go_heap(const ReadMemory& read, const GoAddresses& addresses,
                    unsigned most_readings = 200);

// What was copied of a list when its process was killed: each bucket as it lay in memory. What is
// not a bucket is left out and counted in `damaged`. A figure that was being changed counts by its
// blocks.
GoHeap go_heap_of_copy(std::span<const std::vector<std::byte>> buckets, uint32_t cycle,
                       const GoAddresses& addresses, uint64_t& damaged);

// An estimate of what was sampled, as Go's own pprof makes it, to the byte.
struct GoEstimate {
  int64_t blocks = 0, bytes = 0;
};
GoEstimate go_estimate(uint64_t blocks, uint64_t bytes, uint64_t rate);

}  // namespace memflame
