// SPDX-License-Identifier: BSD-2-Clause
// How much memory memflame takes, in the kernel's tables and for itself: as much as --memory
// allows, or little on a machine with little free memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/losses.h"
#include "probes/options/options.h"

namespace memflame {

// Below this no room would be left for tables at all.
inline constexpr uint64_t least_memory = uint64_t{24} << 20;

// Sizes of the tables within a limit. A full table counts its losses as usual.
struct MemoryPlan {
  uint64_t limit = 0;       // bytes; 0 = none: the tables have their usual sizes
  bool is_chosen = false;   // by plan_memory(), because little memory is free
  uint64_t free = 0;        // bytes, when it was made
  uint32_t ring_bytes = 0;  // a power of two
  uint32_t copy_kib = 0;    // of a stack that is copied into the ring
  uint32_t max_stacks = 0;  // in the kernel, and known here
  uint32_t max_live = 0;    // blocks
  uint32_t max_spaces = 0;  // address spaces
  uint32_t table_mib = 0;   // of unwind tables
};

// `wanted`: bytes, at least least_memory; 0 = not given: an eighth of the free memory, if that is
// less than the usual sizes need.
MemoryPlan plan_memory(uint64_t wanted, uint64_t free);

// The options, with no table larger than in the plan.
ProbeOptions within(const MemoryPlan& plan, ProbeOptions options);

// The note of a run within a plan: that its tables were small, and the resulting losses; "" = a run
// without a limit.
std::string memory_note(const MemoryPlan& plan, const Losses& losses);

// Bytes available without evicting anything, on the machine and in the control groups of memflame.
uint64_t free_memory();

// Bytes of memflame's own memory, without files and without the kernel's tables.
uint64_t own_memory();

// MemAvailable of a /proc/meminfo, in bytes; UINT64_MAX if it has none.
uint64_t available_in(std::string_view meminfo);

}  // namespace memflame
