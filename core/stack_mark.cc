// SPDX-License-Identifier: BSD-2-Clause
#include "core/stack_mark.h"

#include <array>
#include <cmath>

#include "core/units.h"

namespace memflame {
namespace {

constexpr std::array<std::string_view, 6> verdict_names{"leak", "cannot tell yet",  "cache or pool",
                                                        "kept", "freed at the end", "comes back"};

}  // namespace

std::string_view name(VerdictKind kind) { return verdict_names.at(static_cast<size_t>(kind)); }

bool parse_verdict(std::string_view text, VerdictKind& kind) {
  for (size_t i = 0; i < verdict_names.size(); ++i) {
    if (verdict_names[i] != text) continue;
    kind = static_cast<VerdictKind>(i);
    return true;
  }
  return false;
}

// Slow rates are per hour, as in the sentence.
std::string flag_text(const StackMark& mark) {
  if (!(mark.bytes_per_second > 0) || mark.bytes_per_second > 9e15) return "leak";
  const bool slow = mark.bytes_per_second < 100;
  return "leak " + iec_bytes(std::llround(mark.bytes_per_second * (slow ? 3600 : 1))) +
         (slow ? "/h" : "/s");
}

}  // namespace memflame
