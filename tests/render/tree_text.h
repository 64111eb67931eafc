// SPDX-License-Identifier: BSD-2-Clause
// A frame tree in one line, to compare trees by.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "render/picture/frame_tree.h"

namespace memflame {

// "a 1(b 2 c 3)": a node with its own value and its callees. Checks that callers fit.
inline std::string tree_text(const Profile& p, const FrameTree& tree) {
  std::string out;
  std::vector<uint32_t> open;
  for (uint32_t node = 0; node < tree.size(); ++node) {
    for (; !open.empty() && tree.end[open.back()] <= node; open.pop_back()) out += ")";
    if (!out.empty() && out.back() != '(') out += " ";
    out += node == 0 ? "all" : std::string(p.strings[p.frames[tree.frame[node]].function]);
    for (const int64_t value : tree.row(node)) out += " " + std::to_string(value);
    CHECK(tree.caller[node] == (open.empty() ? 0 : open.back()));
    if (tree.end[node] == node + 1) continue;
    out += "(";
    open.push_back(node);
  }
  return out + std::string(open.size(), ')');
}

}  // namespace memflame
