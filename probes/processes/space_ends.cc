// SPDX-License-Identifier: BSD-2-Clause
// Spaces: what is given back of those that have ended, and what stands for several of them.
#include <algorithm>

#include "probes/processes/spaces.h"

namespace memflame {

// Those from which one that is not forgotten has code.
std::unordered_set<SpaceId> Spaces::parents_of_remembered() const {
  std::unordered_set<SpaceId> parents;
  for (const auto& [number, space] : spaces_) {
    if (space.space.pid == 0 || space.is_forgotten) continue;
    for (SpaceId id = space.space.forked_from; id && is_known(id) && parents.insert(id).second;)
      id = known(id).space.forked_from;
  }
  return parents;
}

void Spaces::give_back_forgotten() {
  const std::unordered_set<SpaceId> parents = parents_of_remembered();
  for (auto& [number, space] : spaces_) {
    if (!space.is_forgotten || parents.contains(space.id)) continue;
    space.space.mappings = std::vector<Mapping>();  // gives back its memory, unlike {}
    space.space.perf_map = std::string();
    space.turns.forget();
    code_.erase(number);
  }
  std::erase_if(spaces_, [&](const auto& entry) {
    return entry.second.is_given_back && !parents.contains(entry.second.id);
  });
}

std::vector<SpaceId> Spaces::forget(uint64_t time_ns) {
  settled_.clear();
  std::vector<SpaceId> newly;
  for (auto& [number, space] : spaces_)
    if (had_ended(space.id, time_ns) && !std::exchange(space.is_forgotten, true))
      newly.push_back(space.id);
  give_back_forgotten();
  return newly;
}

void Spaces::give_back(std::span<const SpaceId> ended) {
  for (const SpaceId id : ended) {
    Watched& space = watched(id);
    space.is_forgotten = space.is_given_back = true;
  }
  give_back_forgotten();
}

void Spaces::begin_estate(SpaceId id, SpaceId like) {
  Watched& estate = watched(id);
  const Watched& ended = known(like);
  estate.space.comm = ended.space.comm;
  estate.space.cgroup = ended.space.cgroup;
  estate.space.from_ns = ended.space.from_ns;
  estate.ended = true;
  estate.end_ns = ended.end_ns;
}

void Spaces::add_estates_to(Recording& recording) const {
  recording.spaces.resize(std::max<size_t>(recording.spaces.size(), next_));
  for (const auto& [number, space] : spaces_)
    if (space.space.pid == 0) recording.spaces[number] = space.space;
}

void Spaces::add_code(SpaceId estate, const Mapping& mapping) {
  std::vector<Mapping>& code = watched(estate).space.mappings;
  if (std::ranges::find(code, mapping) == code.end()) code.push_back(mapping);
}

}  // namespace memflame
