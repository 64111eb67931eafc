// SPDX-License-Identifier: BSD-2-Clause
// Names that are kept from one look at a run to the next. The idea: a run of weeks shows the same
// places again and again, and reading the symbols of a large program takes a second each time.
#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>

#include "collapse/symbolize/places.h"
#include "collapse/symbolize/symbolize.h"
#include "core/code_places.h"
#include "core/hash.h"
#include "core/recording.h"

namespace memflame {

class KeptNames {
 public:
  // symbolize(), with the names that are known already. The recordings must be of one run, whose
  // modules keep their numbers. A name that was not found is looked for again after 2 looks,
  // then after 4, 8 and so on up to 64: a stripped program has thousands of such places.
  void symbolize(Recording& recording, const SymbolSources& sources);

  size_t size() const { return known_.size(); }

 private:
  // Only code of files: what a program makes at run time may be replaced at any time.
  struct Key {
    ModuleId module;
    uint64_t offset = 0;
    bool is_return = false;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const noexcept {
      return mix(key.offset, (uint64_t{key.module.index} << 1U) | (key.is_return ? 1U : 0U));
    }
  };
  struct Known {
    SymbolList symbols;
    CodeMapping mapping;
    uint64_t address = 0;  // in the mapping; none if that has no file
    uint64_t again = 0;    // the look in which the name is looked for again
    uint32_t tries = 0;    // without finding it
  };
  struct Found {
    Key key;
    LocationId location;
  };
  Places take_known(Recording& recording, Places places, std::vector<Found>& found) const;
  void keep(const Recording& recording, const Places& places);

  std::unordered_map<Key, Known, KeyHash> known_;
  std::set<ModuleId> read_;  // files that have given a name
  uint64_t looks_ = 0;
};

}  // namespace memflame
