// SPDX-License-Identifier: BSD-2-Clause
#include "probes/processes/code_turns.h"

#include <algorithm>

#include "probes/bpf/hash.h"

namespace memflame {
namespace {

// What tells code from other code at the same addresses; never 0.
uint64_t code_in(const Mapping& mapping, bool is_file) {
  const uint64_t base = is_file ? mapping.start - mapping.offset : 0;
  return bpf::mix(bpf::mix(0, mapping.module.index), base) | 1;
}

}  // namespace

uint64_t turn_at(std::span<const LaterCode> later, uint64_t address) {
  const auto after =
      std::upper_bound(later.begin(), later.end(), address,
                       [](uint64_t at, const LaterCode& code) { return at < code.start; });
  if (after == later.begin() || address >= (after - 1)->end) return 0;
  return (after - 1)->turn;
}

const CodeTurns::Place* CodeTurns::first(const Mapping& mapping) const {
  const auto found = std::ranges::find_if(places_, [&](const Place& place) {
    return place.start < mapping.end && mapping.start < place.end;
  });
  return found == places_.end() ? nullptr : &*found;
}

void CodeTurns::note(const Mapping& mapping, bool is_file,
                     std::span<const CodeTurns* const> before) {
  const uint64_t code = code_in(mapping, is_file);
  bool alone = true;
  for (const Place& place : places_) {
    if (place.start >= mapping.end || mapping.start >= place.end) continue;
    if (place.code != code)
      alone = false;
    else if (place.start <= mapping.start && mapping.end <= place.end)
      return;
  }
  const auto is_other = [&](const CodeTurns* inherited) {
    const Place* const place = inherited->first(mapping);
    return place != nullptr && place->code != code;
  };
  any_ = any_ || !alone || std::ranges::any_of(before, is_other);
  // A piece beside those that are known, as programs that make code map it.
  if (alone)
    for (Place& place : places_) {
      if (place.code != code || place.start > mapping.end || mapping.start > place.end) continue;
      place.start = std::min(place.start, mapping.start);
      place.end = std::max(place.end, mapping.end);
      return;
    }
  places_.push_back({mapping.start, mapping.end, code});
}

uint64_t turn_of(const Mapping& mapping, bool is_file,
                 std::span<const CodeTurns* const> oldest_first) {
  const uint64_t code = code_in(mapping, is_file);
  for (const CodeTurns* turns : oldest_first)
    if (const CodeTurns::Place* const place = turns->first(mapping))
      return place->code == code ? 0 : code;
  return 0;
}

}  // namespace memflame
