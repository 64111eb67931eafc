// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/events/culled.h"

#include <algorithm>
#include <limits>

#include "core/units.h"

namespace memflame {
namespace {

void add_saturating(uint64_t& sum, uint64_t value) {
  if (__builtin_add_overflow(sum, value, &sum)) sum = std::numeric_limits<uint64_t>::max();
}

int64_t shown(uint64_t sum) { return static_cast<int64_t>(std::min<uint64_t>(sum, INT64_MAX)); }

std::string shortest_time(uint64_t ns) {
  constexpr struct {
    uint64_t ns;
    const char* name;
  } units[] = {{1'000'000'000, " s"}, {1'000'000, " ms"}, {1000, " µs"}};
  for (const auto& unit : units)
    if (ns % unit.ns == 0) return std::to_string(ns / unit.ns) + unit.name;
  return std::to_string(ns) + " ns";
}

}  // namespace

std::string in_words(const CulledBlocks& culled) {
  uint64_t blocks = 0, bytes = 0;
  for (const CulledStack& sum : culled.stacks) {
    add_saturating(blocks, sum.blocks);
    add_saturating(bytes, sum.bytes);
  }
  return "culled: " + with_commas(shown(blocks)) + (blocks == 1 ? " block, " : " blocks, ") +
         iec_bytes(shown(bytes)) + " together, whose chains lived shorter than " +
         shortest_time(culled.below_ns) +
         " (--cull): they are missing in total, freed and churn memory, at peaks and in "
         "group.span, but not in group.count and group.leaked_share, nor in the figures of the "
         "whole run";
}

std::string encode(const CulledBlocks& culled) {
  ByteWriter out;
  out.number(culled.below_ns);
  out.number(culled.stacks.size());
  uint32_t last = 0;
  for (const CulledStack& sum : culled.stacks) {
    out.number(sum.stack.index - last);
    last = sum.stack.index;
  }
  for (const CulledStack& sum : culled.stacks) out.number(sum.blocks);
  for (const CulledStack& sum : culled.stacks) out.number(sum.bytes);
  return out.take();
}

void decode_culled(ByteReader& in, size_t stacks, CulledBlocks& into) {
  const uint64_t below_ns = in.number();
  if (below_ns == 0) throw DamagedChunk("it has blocks that lived shorter than no time");
  std::vector<CulledStack> rows(in.count());
  uint64_t id = 0;
  for (CulledStack& row : rows) {
    id += in.number_below(stacks, "a stack");
    if (id >= stacks) throw DamagedChunk("it has a stack that cannot be");
    row.stack = RawStackId{static_cast<uint32_t>(id)};
  }
  for (CulledStack& row : rows) row.blocks = in.number();
  for (CulledStack& row : rows) row.bytes = in.number();
  if (!in.at_end()) throw DamagedChunk("it has more than culled blocks");
  into.below_ns = below_ns;
  into.stacks.resize(stacks);
  for (const CulledStack& row : rows) {
    CulledStack& sum = into.stacks[row.stack.index];
    sum.stack = row.stack;
    add_saturating(sum.blocks, row.blocks);
    add_saturating(sum.bytes, row.bytes);
  }
}

}  // namespace memflame
