// SPDX-License-Identifier: BSD-2-Clause
#include <array>

#include "collapse/inputs/heap/legacy_heap.h"
#include "collapse/inputs/scan.h"

namespace memflame {
namespace {

// "144: 8498176 [144: 8498176] @"
bool take_counts(Scan& scan, HeapCounts& in_use, HeapCounts& allocated) {
  scan.blanks();
  if (!scan.number(in_use.objects) || !scan.literal(":")) return false;
  scan.blanks();
  if (!scan.number(in_use.bytes)) return false;
  scan.blanks();
  if (!scan.literal("[")) return false;
  scan.blanks();
  if (!scan.number(allocated.objects) || !scan.literal(":")) return false;
  scan.blanks();
  if (!scan.number(allocated.bytes)) return false;
  scan.blanks();
  if (!scan.literal("]")) return false;
  scan.blanks();
  return scan.literal("@");
}

struct LegacyKind {
  std::string_view word, prefix, rule;
  uint64_t divisor;  // of the header's rate; 0: no sampling
};
constexpr std::array<LegacyKind, 8> kinds{
    {{"heap_v2", "inuse", "", 1},
     {"heapz_v2", "inuse", "", 1},
     // Go writes twice its rate, for readers older than v2.
     {"heap", "inuse", "half the rate of the header, as Go's pprof takes it", 2},
     {"heapprofile", "inuse", "", 0},
     {"growthz", "growth", "", 0},
     {"growth", "growth", "", 0},
     {"fragmentationz", "fragmentation", "", 0},
     {"fragmentation", "fragmentation", "", 0}}};

}  // namespace

bool LegacyHeapHeader::accumulated() const {
  const auto differs = [](int64_t all, int64_t now) { return all != 0 && all != now; };
  return differs(allocated.objects, in_use.objects) || differs(allocated.bytes, in_use.bytes);
}

std::optional<LegacyHeapHeader> parse_legacy_header(std::string_view line) {
  LegacyHeapHeader header;
  Scan scan{line};
  if (!scan.literal("heap profile:") || !take_counts(scan, header.in_use, header.allocated))
    return std::nullopt;
  scan.blanks();
  header.kind = scan.rest.substr(0, scan.rest.find_first_of("/ \t\r"));
  scan.rest.remove_prefix(header.kind.size());
  if (scan.literal("/") && !scan.number(header.rate)) return std::nullopt;
  return header;
}

std::optional<LegacyHeapRow> parse_legacy_row(std::string_view line) {
  LegacyHeapRow row;
  Scan scan{line};
  if (!take_counts(scan, row.in_use, row.allocated)) return std::nullopt;
  row.addresses = scan.rest;
  return row;
}

std::optional<LegacyHeapKind> legacy_kind(const LegacyHeapHeader& header) {
  for (const LegacyKind& kind : kinds) {
    if (kind.word != header.kind) continue;
    LegacyHeapKind found{.rate = kind.divisor == 0 ? 0 : header.rate / kind.divisor,
                         .prefix = std::string(kind.prefix),
                         .rule = std::string(kind.rule)};
    if (found.rate <= 1) found.rule.clear();
    return found;
  }
  return std::nullopt;
}

std::optional<GoFrame> parse_go_frame(std::string_view line) {
  GoFrame frame;
  Scan scan{line};
  if (!scan.literal("#")) return std::nullopt;
  scan.blanks();
  if (!scan.literal("0x") || !scan.hex(frame.address)) return std::nullopt;
  scan.blanks();
  std::string_view name = scan.rest.substr(0, scan.rest.find('\t'));
  scan.rest.remove_prefix(name.size());
  scan.blanks();
  if (const size_t plus = name.rfind("+0x"); plus != std::string_view::npos) {
    frame.offset = name.substr(plus);
    name = name.substr(0, plus);
  }
  frame.function = name;
  const size_t colon = scan.rest.rfind(':');
  if (colon == std::string_view::npos) return frame;
  frame.file = scan.rest.substr(0, colon);
  Scan number{scan.rest.substr(colon + 1)};
  uint32_t known = 0;
  if (number.small_number(known)) frame.line = known;
  return frame;
}

}  // namespace memflame
