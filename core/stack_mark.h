// SPDX-License-Identifier: BSD-2-Clause
// What a stack of a profile is known to do over time: a verdict (collapse/verdicts/), as pictures
// show it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"

namespace memflame {

// The most wrong first.
enum class VerdictKind : uint8_t {
  leak,          // blocks that never come back; or an ended process left them
  cannot_tell,   // it may be a leak
  cache,         // full; old blocks are replaced by new ones
  kept,          // blocks stay, but no more have come
  freed_at_end,  // all that was kept was freed at the end of the run or of the process
  comes_back,    // everything is freed after a while
};

std::string_view name(VerdictKind kind);                       // "leak", "cannot tell yet", …
bool parse_verdict(std::string_view text, VerdictKind& kind);  // false if it is not one of these

struct StackMark {
  StackId stack;  // a whole stack, from the root to its leaf
  VerdictKind kind = VerdictKind::cannot_tell;
  bool is_drawn = false;        // a leak that pictures point out; the others are only named
  double bytes_per_second = 0;  // that never come back; 0: not known
  std::string sentence, label;  // "leak: 2.0 % of the blocks …"; a short name of the stack
};

// The marks on other stacks, after a profile was rebuilt: `place` gives the new one, none if it is
// gone. Where stacks meet, the first mark stays, which is the worst.
template <class Place>
std::vector<StackMark> moved_marks(const std::vector<StackMark>& marks, const Place& place) {
  std::vector<StackMark> moved;
  for (const StackMark& mark : marks) {
    const StackId stack = place(mark.stack);
    bool taken = !stack;
    for (const StackMark& known : moved) taken = taken || known.stack == stack;
    if (taken) continue;
    moved.push_back(mark);
    moved.back().stack = stack;
  }
  return moved;
}

// "leak 19.1 KiB/s", or "leak": the text of a flag in a picture.
std::string flag_text(const StackMark& mark);

}  // namespace memflame
