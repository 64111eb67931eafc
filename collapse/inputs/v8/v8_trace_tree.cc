// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/v8/v8_trace_tree.h"

#include <array>

namespace memflame {
namespace {

constexpr std::array fields{&V8TraceNode::id, &V8TraceNode::function, &V8TraceNode::objects,
                            &V8TraceNode::bytes};

}  // namespace

void V8TraceTree::take(JsonTokens& json) {
  using Token = JsonTokens::Kind;
  if (json.next() != Token::begin_array) json.fail("\"trace_tree\" is not a list,");
  std::vector<Level> levels{{}};
  while (!levels.empty()) {
    Level& level = levels.back();
    switch (json.next()) {
      case Token::number:
        take_number(json, level);
        break;
      case Token::begin_array:
        if (level.field != fields.size()) json.fail("children before their caller,");
        level.field = 0;
        levels.push_back({.caller = nodes_.size() - 1});
        break;
      case Token::end_array:
        if (level.field != 0) json.fail("a node that is not complete,");
        levels.pop_back();
        break;
      default:
        json.fail("neither a number nor a list,");
    }
  }
}

void V8TraceTree::take_number(JsonTokens& json, Level& level) {
  const auto number = json.integer();
  if (!number || level.field == fields.size()) json.fail("not a node of the tree,");
  if (level.field == 0) nodes_.push_back({.caller = level.caller});
  nodes_.back().*fields[level.field++] = *number;
}

}  // namespace memflame
