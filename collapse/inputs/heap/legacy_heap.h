// SPDX-License-Identifier: BSD-2-Clause
// Parts of the heap profiles that gperftools, tcmalloc and Go write as text (legacy_heap.cc).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "collapse/inputs/heap/heap_columns.h"

namespace memflame {

// "heap profile: 144: 8498176 [144: 8498176] @ heapz_v2/524288"
struct LegacyHeapHeader {
  HeapCounts in_use, allocated;
  std::string_view kind;  // "heapz_v2"
  uint64_t rate = 0;      // after the '/', 0 if there is none
  // Whether both pairs are there and differ.
  bool accumulated() const;
};

// Throws Error if a number does not fit in 64 bits.
std::optional<LegacyHeapHeader> parse_legacy_header(std::string_view line);

// "13: 319488 [13: 319488] @ 0xc635c8 0x42ecc3"
struct LegacyHeapRow {
  HeapCounts in_use, allocated;
  std::string_view addresses;
};
std::optional<LegacyHeapRow> parse_legacy_row(std::string_view line);

// The meaning of the word at the end of the header.
struct LegacyHeapKind {
  uint64_t rate = 0;   // bytes between two samples, 0 = no sampling
  std::string prefix;  // of the columns
  std::string rule;    // how the rate was derived, "" if the header states it
};
// Empty for an unknown word.
std::optional<LegacyHeapKind> legacy_kind(const LegacyHeapHeader& header);

// "#\t0x41d8af\tmain.work+0x2f\t\t/src/main.go:12", as Go writes below a stack
struct GoFrame {
  uint64_t address = 0;
  std::string_view function;  // "" if Go has no name
  std::string_view offset;    // "+0x2f"
  std::string_view file;
  uint32_t line = 0;
};
std::optional<GoFrame> parse_go_frame(std::string_view line);

}  // namespace memflame
