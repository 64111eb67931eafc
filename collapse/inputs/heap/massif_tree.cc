// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/heap/massif_tree.h"

#include <algorithm>
#include <charconv>

#include "core/error.h"

namespace memflame {
namespace {

// Takes "12" and the text that must follow it off the text.
bool take_number(std::string_view& text, int64_t& number, std::string_view behind) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::result_out_of_range) throw Error("a number is beyond 64 bits");
  if (error != std::errc{} || number < 0) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  if (!text.starts_with(behind)) return false;
  text.remove_prefix(behind.size());
  return true;
}

}  // namespace

void MassifTree::take(std::string_view line, size_t number) {
  std::string_view text = line;
  const size_t depth = std::min(text.find_first_not_of(' '), text.size());
  text.remove_prefix(depth);
  const bool is_node = text.starts_with('n');
  text.remove_prefix(is_node ? 1 : 0);
  Node node{.frame = {}, .line = number};
  const bool fits = depth == 0 ? !begun_ : depth <= open_.size();
  if (!is_node || !take_number(text, node.children, ": ") || !take_number(text, node.rest, " ") ||
      !fits)
    return issues_.add("not a node of the tree", number, line);
  begun_ = true;
  close_down_to(depth);
  open(node, depth, text);
}

void MassifTree::open(Node node, size_t depth, std::string_view label) {
  if (depth == 0) {
    sum_ = node.rest;
    allocated_by_ = label;
  } else {
    node.frame = frame(label);
    if (__builtin_sub_overflow(open_.back().rest, node.rest, &open_.back().rest))
      throw Error("a sum leaves the range of 64 bits");
    --open_.back().children;
  }
  open_.push_back(node);
}

std::vector<MassifTree::Row> MassifTree::finish() {
  close_down_to(0);
  begun_ = false;
  sum_ = 0;
  return std::exchange(rows_, {});
}

// "in 12 places, all below massif's threshold (01.00%)" stands for callers that are not in the
// file. They are one frame, so that a picture keeps them together.
ValgrindFrame MassifTree::frame(std::string_view label) {
  const bool note =
      label.starts_with("in ") && label.find(" below massif's threshold") != std::string_view::npos;
  if (!note) return valgrind_frame(profile_, label, options_);
  const Frame frame{.function = profile_.strings.intern("[below massif's threshold]"),
                    .module = {},
                    .file = {},
                    .kind = FrameKind::note};
  return {profile_.frames.intern(frame)};
}

// A node that is not the sum of its children, as in a truncated file, keeps the difference.
void MassifTree::close_down_to(size_t depth) {
  for (; open_.size() > depth; open_.pop_back()) {
    const Node& node = open_.back();
    if (node.children != 0)
      issues_.add("a node with other children than it says", node.line, "of a snapshot's tree");
    if (node.rest != 0) rows_.emplace_back(stack(), node.rest);
  }
}

StackId MassifTree::stack() {
  std::vector<ValgrindFrame> frames;
  for (size_t i = open_.size(); i-- > 1;) frames.push_back(open_[i].frame);
  const StackId stack = push_frames(profile_, frames);
  return stack ? stack : profile_.push({}, "[no stack]", FrameKind::note);
}

}  // namespace memflame
