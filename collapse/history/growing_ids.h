// SPDX-License-Identifier: BSD-2-Clause
// The ids that the entries of a table get in a recording. A run uses the places of what it forgets
// again, but a recording keeps all: its tables only grow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/history.h"
#include "core/interner.h"

namespace memflame {

template <class Id>
class GrowingIds {
 public:
  // That of the entry at a place; none if it was not written.
  Id operator[](Id place) const { return place.index < ids_.size() ? Id{ids_[place.index]} : Id{}; }
  // The places whose entries are to be written, which get the ids that follow. `size`: of the
  // table. `is_used`: whether there is an entry at a place that was left.
  template <class IsUsed>
  std::vector<uint32_t> take_new(size_t size, IsUsed is_used) {
    std::vector<uint32_t> places;
    std::erase_if(left_, [&](uint32_t place) {
      if (!is_used(place)) return false;
      places.push_back(place);
      return true;
    });
    for (; ids_.size() < size; ids_.push_back(0))
      places.push_back(static_cast<uint32_t>(ids_.size()));
    for (const uint32_t place : places) ids_[place] = next_index(next_++);
    return places;
  }
  // What is at this place will be another entry.
  void leave(Id place) {
    if (!(*this)[place]) return;
    ids_[place.index] = 0;
    left_.push_back(place.index);
    are_places_ = false;
  }
  // Whether each entry has the number of its place.
  bool are_places() const { return are_places_; }
  // The places by id; none for what was left.
  std::vector<Id> places() const {
    std::vector<Id> places(next_);
    for (uint32_t place = 1; place < ids_.size(); ++place)
      if (ids_[place] != 0) places[ids_[place]] = Id{place};
    return places;
  }

 private:
  std::vector<uint32_t> ids_{0};  // by place
  std::vector<uint32_t> left_;    // places
  size_t next_ = 1;
  bool are_places_ = true;
};

// A look with the tracks of the file. `left`: tracks of the file that have no figures any more,
// which are `columns`.
Look in_file(const Look& look, const GrowingIds<TrackId>& tracks, std::span<const TrackId> left,
             size_t columns);

}  // namespace memflame
