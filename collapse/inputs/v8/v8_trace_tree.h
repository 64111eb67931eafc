// SPDX-License-Identifier: BSD-2-Clause
// "trace_tree" of V8's heap snapshots: [id, function, objects, bytes, [children…]], where the
// children are such groups of five in a row.
#pragma once

#include <cstdint>
#include <vector>

#include "collapse/text/json_tokens.h"

namespace memflame {

struct V8TraceNode {
  size_t caller = 0;  // index in the list, smaller than this node's
  int64_t id = 0, function = 0;
  int64_t objects = 0, bytes = 0;  // allocated here, not in children
};

class V8TraceTree {
 public:
  // Takes the next value, which is the tree. Throws Error if it is something else.
  void take(JsonTokens& json);

  // The root comes first.
  const std::vector<V8TraceNode>& nodes() const { return nodes_; }

 private:
  struct Level {  // a list of children
    size_t caller = 0;
    size_t field = 0;  // 0 to 4
  };
  void take_number(JsonTokens& json, Level& level);

  std::vector<V8TraceNode> nodes_;
};

}  // namespace memflame
