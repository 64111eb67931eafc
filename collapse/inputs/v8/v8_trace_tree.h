// SPDX-License-Identifier: BSD-2-Clause
// "trace_tree" of V8's heap snapshots: [id, function, objects, bytes, [children…]], where the
// children are such groups of five in a row.
#pragma once

#include <cstdint>
#include <vector>

#include "collapse/json_tokens.h"

namespace memflame {

struct V8TraceNode {
  size_t caller = 0;  // in the list, before this
  int64_t id = 0, function = 0;
  int64_t objects = 0, bytes = 0;  // allocated here, not in children
};

class V8TraceTree {
 public:
  // The next value. Throws Error if it is not such a tree.
  void take(JsonTokens& json);

  // The root is the first.
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
