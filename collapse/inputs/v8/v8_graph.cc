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

void V8Graph::walk() {
  begins_.push_back(static_cast<Index>(to_.size()));  // the end of the last one's
  holders_.assign(objects(), none);
  by_.assign(objects(), none);
  order_.clear();
  if (objects() == 0) return;
  order_.push_back(0);
  for (size_t next = 0; next < order_.size(); ++next) {
    const Index from = order_[next];
    for (Index i = begins_[from]; i < begins_[from + 1]; ++i) {
      const Index to = to_[i];
      if (to >= objects() || reached(to)) continue;
      holders_[to] = from;
      by_[to] = i;
      order_.push_back(to);
    }
  }
}

size_t V8Graph::named_references(Index object) const {
  size_t count = 0;
  for (Index i = begins_[object]; i < begins_[object + 1]; ++i)
    if (edge_kinds_[i] == V8EdgeKind::named) ++count;
  return count;
}

}  // namespace memflame
