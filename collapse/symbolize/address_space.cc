#include "collapse/symbolize/address_space.h"

namespace memflame {

AddressSpaces::AddressSpaces(const std::vector<Space>& spaces)
    : spaces_(spaces), mappings_(spaces.size()) {
  for (size_t i = 0; i < spaces.size(); ++i) {
    for (const Mapping& m : spaces[i].mappings) mappings_[i].add(m.start, m.end, &m);
    mappings_[i].build();
  }
}

Place AddressSpaces::find(SpaceId space, uint64_t address, uint64_t time_ns) const {
  for (int i = 0; i < max_ancestors && space && space.index < spaces_.size(); ++i) {
    const Mapping* newest = nullptr;
    mappings_[space.index].visit(address, [&](const Mapping* m) {
      const bool valid = m->from_ns <= time_ns && time_ns < m->until_ns;
      // Of two that began at the same time the one noted later counts.
      if (valid && (newest == nullptr || m->from_ns > newest->from_ns ||
                    (m->from_ns == newest->from_ns && m > newest)))
        newest = m;
      return false;
    });
    if (newest != nullptr) return {newest, space};
    time_ns = spaces_[space.index].from_ns;
    space = spaces_[space.index].forked_from;
  }
  return {};
}

}  // namespace memflame
