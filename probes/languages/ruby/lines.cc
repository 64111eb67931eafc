// SPDX-License-Identifier: BSD-2-Clause
#include "probes/languages/ruby/lines.h"

#include <bit>
#include <cstring>

#include "core/ruby_lines.h"
#include "probes/languages/ruby/layout.h"

namespace memflame {
namespace {

template <class T>
T ruby_value(std::span<const uint8_t> bytes, size_t at) {
  T value{};
  if (at <= bytes.size() && bytes.size() - at >= sizeof(T))
    std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

// How many entries begin at or before a position (iseq.c, succ_index_lookup).
uint32_t entries_up_to(std::span<const uint8_t> index, uint32_t position) {
  if (position < bpf::ruby_index_first) {
    const auto word = ruby_value<uint64_t>(index, size_t{position / bpf::ruby_index_word} * 8);
    return static_cast<uint32_t>(word >> (7 * (position % bpf::ruby_index_word)) & 0x7fU);
  }
  const uint32_t behind = position - bpf::ruby_index_first, bit = behind % bpf::ruby_index_block;
  const size_t block = size_t{bpf::ruby_index_first / bpf::ruby_index_word} * 8 +
                       size_t{behind / bpf::ruby_index_block} * bpf::ruby_index_block_bytes;
  const uint32_t part = bit / 64;
  uint32_t count = ruby_value<uint32_t>(index, block);
  if (part != 0)
    count +=
        static_cast<uint32_t>(ruby_value<uint64_t>(index, block + 8) >> (9 * (part - 1)) & 0x1ffU);
  const auto bits = ruby_value<uint64_t>(index, block + 16 + size_t{8} * part);
  return count + static_cast<uint32_t>(std::popcount(bits << (63 - bit % 64)));
}

}  // namespace

std::string ruby_lines(std::span<const uint8_t> read, uint32_t& instructions) {
  std::string table;
  if (read.size() < sizeof(bpf::ruby_lines_head)) return table;
  const auto head = ruby_value<bpf::ruby_lines_head>(read, 0);
  instructions = head.instructions;
  read = read.subspan(sizeof(head));
  if (head.index_bytes > read.size()) return table;
  const std::span<const uint8_t> index = read.first(head.index_bytes);
  const std::span<const uint8_t> entries = read.subspan(head.index_bytes);
  uint32_t before = 0;
  // Places behind the last one that a word of a stack can tell have no lines.
  for (uint32_t position = 0; position < head.size && position < 0xffff; ++position) {
    const uint32_t entry = head.entries == 1 ? 1 : entries_up_to(index, position);
    if (entry == 0 || entry > head.entries || entry == before) continue;
    const size_t at = size_t{entry - 1} * bpf::ruby_line_bytes;
    if (at + bpf::ruby_line_bytes > entries.size()) continue;
    add_ruby_line(table, position, ruby_value<uint32_t>(entries, at));
    before = entry;
  }
  return table;
}

}  // namespace memflame
