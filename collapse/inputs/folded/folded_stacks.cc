// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/folded/folded_stacks.h"

#include <algorithm>

namespace memflame {

void FoldedStacks::lay_out() {
  size_t size = frames.size();
  for (const Stack& stack : stacks) size += stack.kept;
  paths.resize(size);
  walks.clear();
  size_t from = 0;
  FrameId* before = paths.data();
  FrameId* end = paths.data();
  for (const Stack& stack : stacks) {
    FrameId* const begin = end;
    end = std::copy_n(before, stack.kept, end);
    end = std::copy_n(frames.data() + from, stack.end - from, end);
    from = stack.end;
    before = begin;
    walks.push_back({begin, end});
  }
}

}  // namespace memflame
