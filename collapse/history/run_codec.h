// SPDX-License-Identifier: BSD-2-Clause
// The first chunk of a recording, which says what was watched and which columns it has; the last,
// which says how it ended; and marks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collapse/chunks/bytes.h"
#include "core/history.h"

namespace memflame {

struct RunHead {
  Meta meta;
  std::vector<ValueType> types;
  size_t shown = 0;
  std::vector<Gauge> gauges;
  std::string boot;  // the kernel's id of its boot: kernel addresses are those of one boot
};
std::string encode(const RunHead& head);
// Throws DamagedChunk.
RunHead decode_head(ByteReader& in, MemoryBudget& budget);

// The beginning of the note of a recording whose names did not fit into its limit.
inline constexpr std::string_view names_left_out = "names were left out of the recording";

// `meta`, and the losses, candidates and shared names of the recording.
std::string encode_end(const Recording& recording, const Meta& meta);
void decode_end(ByteReader& in, MemoryBudget& budget, Recording& into);

std::string encode(const Mark& mark);
void decode_marks(ByteReader& in, MemoryBudget& budget, std::vector<Mark>& into);

// "" if the kernel does not tell.
std::string this_boot();

}  // namespace memflame
