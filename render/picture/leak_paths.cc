// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/leak_paths.h"

#include <algorithm>

namespace memflame {
namespace {

// A mark's own interval, and the box where its path ends.
struct LeakEnd {
  size_t box = 0;
  int64_t offset = 0, total = 0;
};

LeakEnd end_of(const Layout& layout, const MarkedBox& marked, const FrameTree& tree, size_t mark) {
  const Box& box = layout.boxes[marked.box];
  if (!marked.is_exact) return {marked.box, box.offset, 0};
  const int64_t own = tree.marked_wide.empty() ? box.self : tree.marked_wide[mark];
  return {marked.box, box.offset + box.total - box.self, std::min(own, box.self)};
}

bool is_mostly(int64_t part, int64_t whole) { return part > whole / 2; }

}  // namespace

std::vector<MarkedBox> marked_boxes(const Layout& layout, const FrameTree& tree) {
  std::vector<MarkedBox> result(tree.marked.size());
  if (result.empty() || layout.boxes.empty()) return result;
  constexpr size_t none = SIZE_MAX;
  std::vector<size_t> box_of(tree.size(), none), merged_in(layout.boxes.size(), none);
  const std::vector<uint32_t> callers = callers_of(layout.boxes);
  for (size_t i = 0; i < layout.boxes.size(); ++i) {
    if (layout.boxes[i].merged != 0)
      merged_in[callers[i]] = i;
    else
      box_of[layout.boxes[i].node] = i;
  }
  for (size_t i = 0; i < result.size(); ++i) {
    uint32_t node = tree.marked[i];
    if (node == 0) continue;
    result[i].is_exact = box_of[node] != none;
    while (box_of[node] == none) node = tree.caller[node];
    const size_t box = box_of[node];
    result[i].box = result[i].is_exact || merged_in[box] == none ? box : merged_in[box];
  }
  return result;
}

LeakPaths leak_paths(const Layout& layout, const FrameTree& tree, const Profile& profile) {
  LeakPaths paths;
  const std::vector<MarkedBox> marked = marked_boxes(layout, tree);
  if (marked.empty() || layout.boxes.empty()) return paths;
  const std::vector<uint32_t> callers = callers_of(layout.boxes);
  std::vector<int64_t> leaked(layout.boxes.size(), 0);
  for (size_t i = 0; i < marked.size(); ++i) {
    if (!profile.marks[i].is_drawn || marked[i].box == SIZE_MAX) continue;
    const LeakEnd end = end_of(layout, marked[i], tree, i);
    paths.flags.push_back({end.box, i, end.offset});
    for (size_t box = end.box; box != 0; box = callers[box]) {
      paths.stripes.push_back({box, end.offset, end.total, false});
      leaked[box] += end.total;
    }
  }
  for (LeakStripe& stripe : paths.stripes) {
    const Box& box = layout.boxes[stripe.box];
    stripe.is_outlined = box.merged == 0 && is_mostly(leaked[stripe.box], box.total);
  }
  return paths;
}

std::vector<std::string> verdict_lines(const Layout& layout, const FrameTree& tree,
                                       const Profile& profile) {
  const std::vector<MarkedBox> marked = marked_boxes(layout, tree);
  std::vector<std::string> lines;
  if (marked.empty()) return lines;
  lines.resize(layout.boxes.size());
  const std::vector<uint32_t> callers = callers_of(layout.boxes);
  const auto add = [&](size_t box, const std::string& text) {
    if (!lines[box].empty()) lines[box] += "; ";
    lines[box] += text;
  };
  for (size_t i = 0; i < marked.size(); ++i) {
    const StackMark& mark = profile.marks[i];
    if (marked[i].box == SIZE_MAX) continue;
    if (marked[i].is_exact) add(marked[i].box, mark.sentence);
    if (!mark.is_drawn) continue;
    if (!marked[i].is_exact) add(marked[i].box, mark.label + ": " + mark.sentence);
    for (size_t box = callers[marked[i].box]; box != 0; box = callers[box])
      add(box, "leads to a leak: " + mark.label);
  }
  return lines;
}

std::vector<LegendEntry> leak_legend(const Profile& profile) {
  if (profile.marks.empty() || !profile.marks.front().is_drawn) return {};
  return {
      {leak_colour, "way to a leak",
       "stripes are as wide as the leak, along the boxes that lead to it; boxes with an outline "
       "are mostly leak; a flag is where blocks are allocated that do not come back"}};
}

}  // namespace memflame
