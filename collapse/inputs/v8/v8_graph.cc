// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/v8/v8_graph.h"

namespace memflame {

bool V8Graph::add_object(uint8_t type, Index name, int64_t size, uint64_t references) {
  if (sizes_.size() >= most || references >= most) return false;
  types_.push_back(type);
  names_.push_back(name);
  sizes_.push_back(size);
  begins_.push_back(static_cast<Index>(references));
  return true;
}

bool V8Graph::next_owner() {
  while (left_ == 0 && owner_ < begins_.size()) {
    left_ = begins_[owner_];
    begins_[owner_++] = static_cast<Index>(to_.size());
  }
  return left_ != 0;
}

bool V8Graph::add_reference(const Edge& edge, bool strong) {
  if (!next_owner()) {
    ++surplus_;
    return true;
  }
  --left_;
  if (!strong) return true;
  if (to_.size() >= most) return false;
  to_.push_back(edge.to);
  edge_names_.push_back(edge.name);
  edge_kinds_.push_back(edge.kind);
  return true;
}

uint64_t V8Graph::missing_references() {
  uint64_t missing = 0;
  while (next_owner()) {
    missing += left_;
    left_ = 0;
  }
  return missing;
}

void V8Graph::walk(uint8_t synthetic) {
  begins_.push_back(static_cast<Index>(to_.size()));  // the end of the last one's
  holders_.assign(objects(), none);
  by_.assign(objects(), none);
  order_.clear();
  if (objects() == 0) return;
  order_.push_back(0);
  size_t next = 1;
  for (const bool all : {false, true}) {
    reach_from(0, all, synthetic);
    for (; next < order_.size(); ++next) reach_from(order_[next], true, synthetic);
  }
}

void V8Graph::reach_from(Index holder, bool all, uint8_t synthetic) {
  for (Index i = begins_[holder]; i < begins_[holder + 1]; ++i) {
    const Index to = to_[i];
    if (reached(to) || (!all && types_[to] == synthetic)) continue;
    holders_[to] = holder;
    by_[to] = i;
    order_.push_back(to);
  }
}

size_t V8Graph::named_references(Index object) const {
  size_t count = 0;
  for (Index i = begins_[object]; i < begins_[object + 1]; ++i)
    if (edge_kinds_[i] == V8EdgeKind::named) ++count;
  return count;
}

}  // namespace memflame
