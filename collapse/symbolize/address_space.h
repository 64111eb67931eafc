// What an address of a process was, at a time.
#pragma once

#include <vector>

#include "collapse/symbolize/interval_index.h"
#include "core/recording.h"

namespace memflame {

// How far a fork of a fork of a fork is followed. Shells that never exec reach a few; a recording
// that was tampered with may go in circles.
inline constexpr int max_ancestors = 256;

struct Place {
  const Mapping* mapping = nullptr;  // nullptr: in no executable mapping
  SpaceId space;                     // whose mapping it is: the process's own or an ancestor's
};

class AddressSpaces {
 public:
  // `spaces` must outlive this and keep still.
  explicit AddressSpaces(const std::vector<Space>& spaces);

  // The newest mapping over `address` at `time_ns`; where the space has none, that of the space it
  // was forked from, as of the fork.
  Place find(SpaceId space, uint64_t address, uint64_t time_ns) const;

 private:
  const std::vector<Space>& spaces_;
  std::vector<IntervalIndex<const Mapping*>> mappings_;
};

}  // namespace memflame
