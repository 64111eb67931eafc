// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/places.h"

#include <unordered_map>

#include "collapse/symbolize/address_space.h"
#include "collapse/symbolize/vdso.h"

namespace memflame {
namespace {

enum class Kind : uint8_t { file, anonymous, script, kernel, vsyscall, unmapped };

// Equal keys mean the same place. `owner` is a module for code of files, a space for other code of
// a process, and 0 for the kernel's.
struct Key {
  Kind kind = Kind::unmapped;
  bool is_return = false;
  uint32_t owner = 0;
  uint64_t offset = 0;
  friend bool operator==(const Key&, const Key&) = default;
};

struct KeyHash {
  size_t operator()(const Key& k) const noexcept {
    const uint64_t flags = static_cast<uint64_t>(k.kind) * 2 + (k.is_return ? 1 : 0);
    return mix(k.offset, (uint64_t{k.owner} << 8) | flags);
  }
};

class Finder {
 public:
  explicit Finder(Recording& recording) : recording_(recording), spaces_(recording.spaces) {}

  LocationId find(const RawStack& stack, const Pc& pc, bool kernel) {
    const uint64_t address = lookup_address(pc);
    Key key{.is_return = pc.is_return, .owner = stack.space.index, .offset = address};
    uint64_t offset = address;
    SpaceId map_owner;
    if (kernel) {
      key.kind = Kind::kernel;
      key.owner = 0;
    } else if (is_script(pc)) {
      key.kind = Kind::script;
      key.owner = 0;
    } else if (address >= vsyscall_start && address < vsyscall_end) {
      key.kind = Kind::vsyscall;
      key.owner = 0;
      offset -= vsyscall_start;
    } else if (const Place place = spaces_.find(stack.space, address, stack.time_ns);
               place.mapping != nullptr) {
      const Mapping& mapping = *place.mapping;
      offset = address - mapping.start;
      map_owner = perf_map_owner(recording_, stack.space);
      if (in_file(mapping)) {
        offset += mapping.offset;
        key = {Kind::file, pc.is_return, mapping.module.index, offset};
      } else {
        key = {Kind::anonymous, pc.is_return, map_owner.index, address};
      }
    }
    const auto [known, added] = locations_.try_emplace(key, LocationId{});
    if (added) known->second = add(key, stack, pc, map_owner, offset);
    return known->second;
  }

  Places take() { return std::move(places_); }

 private:
  bool in_file(const Mapping& mapping) const {
    return mapping.module && mapping.module.index < recording_.modules.size() &&
           recording_.modules[mapping.module.index].kind != ModuleKind::anonymous;
  }

  LocationId add(const Key& key, const RawStack& stack, const Pc& pc, SpaceId map_owner,
                 uint64_t offset) {
    const LocationId id{next_index(recording_.locations.size())};
    Location& location = recording_.locations.emplace_back();
    location.space = key.kind == Kind::kernel ? SpaceId{} : stack.space;
    location.pc = pc;
    location.is_code = key.kind != Kind::unmapped;
    const NamelessAddress target{id, offset};
    switch (key.kind) {
      case Kind::file:
        places_.files[ModuleId{key.owner}].push_back(target);
        break;
      case Kind::anonymous:
        places_.anonymous[map_owner].push_back(target);
        break;
      case Kind::script:
        places_.scripts.push_back(target);
        break;
      case Kind::kernel:
        places_.kernel.push_back(target);
        break;
      case Kind::vsyscall:
        places_.vsyscall.push_back(target);
        break;
      case Kind::unmapped:
        places_.unmapped.push_back(target);
        break;
    }
    return id;
  }

  Recording& recording_;
  AddressSpaces spaces_;
  Places places_;
  std::unordered_map<Key, LocationId, KeyHash> locations_;
};

}  // namespace

SpaceId perf_map_owner(const Recording& recording, SpaceId space) {
  SpaceId owner = space;
  for (int i = 0; i < max_ancestors && owner && owner.index < recording.spaces.size(); ++i) {
    if (!recording.spaces[owner.index].perf_map.empty()) return owner;
    owner = recording.spaces[owner.index].forked_from;
  }
  return space;
}

Places find_places(Recording& recording) {
  Finder finder(recording);
  recording.locations.assign(1, Location{});
  recording.frames.assign(recording.stacks.size(), {});
  for (size_t s = 0; s < recording.stacks.size(); ++s) {
    const RawStack& stack = recording.stacks[s];
    std::vector<LocationId>& frames = recording.frames[s];
    frames.reserve(stack.pcs.size());
    for (size_t i = 0; i < stack.pcs.size(); ++i)
      frames.push_back(finder.find(stack, stack.pcs[i], i < stack.kernel_pcs));
  }
  return finder.take();
}

}  // namespace memflame
