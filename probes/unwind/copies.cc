// SPDX-License-Identifier: BSD-2-Clause
#include "probes/unwind/copies.h"

#include <algorithm>

#include "probes/unwind/known_function.h"

namespace memflame::unwind {
namespace {

constexpr size_t copy_align = 16;
constexpr size_t smallest = 8;  // bytes of CPython's smallest: push, mov, call, pop, ret

bool is_empty(Bytes bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{}; });
}

// Whether the memory repeats its first `size` bytes every `distance` bytes, with zeros elsewhere.
bool repeats(Bytes memory, size_t size, size_t distance) {
  const Bytes first = memory.first(size);
  Bytes rest = memory;
  for (; rest.size() >= distance; rest = rest.subspan(distance))
    if (!std::ranges::equal(rest.first(size), first) ||
        !is_empty(rest.subspan(size, distance - size)))
      return false;
  return is_empty(rest);
}

}  // namespace

bool may_be_copies(Bytes first) {
  const std::optional<KnownFunction> function = known_function(first);
  return function && function->size >= smallest;
}

std::vector<row> rows_of_copies(Bytes memory) {
  const std::optional<KnownFunction> function = known_function(memory);
  if (!function || function->size < smallest) return {};
  for (const size_t distance :
       {function->size, (function->size + copy_align - 1) & ~(copy_align - 1)}) {
    if (distance > memory.size() || !repeats(memory, function->size, distance)) continue;
    std::vector<row> rows;
    size_t at = 0;
    for (; at + distance <= memory.size(); at += distance)
      for (row next : function->rows) {
        next.pc += static_cast<uint32_t>(at);
        rows.push_back(next);
      }
    if (at < memory.size()) rows.push_back({static_cast<uint32_t>(at), 0, row_bad, 0});
    return rows;
  }
  return {};
}

}  // namespace memflame::unwind
