// SPDX-License-Identifier: BSD-2-Clause
// The events of bytehound's recordings. They do not say how long they are.
#pragma once

#include <cstdint>

#include "collapse/inputs/heap/bytehound_bytes.h"

namespace memflame {

// In the order of common/src/event.rs of bytehound. All released versions, 0.1 to 0.11, write a
// part of these.
enum class BytehoundEvent : uint32_t {
  header,
  alloc,
  realloc,
  free,
  file,
  backtrace,
  memory_dump,
  marker,
  memory_map,
  memory_unmap,
  mallopt,
  environ,
  wall_clock,
  partial_backtrace,
  string,
  decoded_frame,
  decoded_backtrace,
  group_statistics,
  partial_backtrace_32,
  backtrace_32,
  alloc_with_id,
  realloc_with_id,
  free_with_id,
  file_64,
  add_region,
  remove_region,
  update_region_usage,
  memory_map_with_id,
};

// Skips the rest of an event that says nothing of blocks: mappings of memory, options of the
// allocator, the environment. False if its kind is not known.
bool pass_over(BytehoundEvent kind, BytehoundBytes& bytes);

}  // namespace memflame
