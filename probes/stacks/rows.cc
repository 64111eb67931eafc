// SPDX-License-Identifier: BSD-2-Clause
#include "probes/stacks/rows.h"

namespace memflame {

void RecordingRows::add(uint64_t key, const std::string& group, const std::vector<int64_t>& values,
                        int64_t events, const std::string& leaf) {
  const RawStackId id = stack(key);
  if (!leaf.empty()) recording_.stacks[id.index].leaf = leaf;
  recording_.sums.push_back({id, group, values, events});
}

RawStackId RecordingRows::stack(uint64_t key) {
  RawStackId& id = stacks_[log().known_as(key)];
  if (id) return id;
  id = RawStackId{static_cast<uint32_t>(recording_.stacks.size())};
  recording_.stacks.push_back(log().stack_of(key));
  return id;
}

}  // namespace memflame
