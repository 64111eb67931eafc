// SPDX-License-Identifier: BSD-2-Clause
// Samples of perf.data as a recording with known places.
#pragma once

#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "collapse/inputs/perf/perf_data_processes.h"
#include "collapse/inputs/perf/perf_data_sample.h"
#include "collapse/inputs/readers.h"
#include "collapse/symbolize/places.h"

namespace memflame {

class PerfStacks {
 public:
  PerfStacks(Recording& recording, PerfProcesses& processes, const ReadOptions& options)
      : recording_(recording), processes_(processes), options_(options) {
    recording_.frames.assign(1, {});
  }

  // Adds a sample to a column. Throws Error if a sum does not fit in 64 bits.
  void add(const PerfSample& sample, size_t column);

  // The places to be named.
  Places take() { return std::move(places_); }
  // Processes with code that is in no file: pid -> their space in the recording.
  const std::unordered_map<uint32_t, SpaceId>& with_jit() const { return jit_spaces_; }

 private:
  enum class Kind : uint8_t { file, anonymous, kernel, unmapped };
  struct Key {
    Kind kind = Kind::unmapped;
    bool is_return = false;
    uint32_t owner = 0;  // module, or space of code in no file
    uint64_t where = 0;  // offset in the file, or address
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const noexcept {
      const uint64_t flags = static_cast<uint64_t>(key.kind) * 2 + (key.is_return ? 1 : 0);
      return mix(key.where, (uint64_t{key.owner} << 8U) | flags);
    }
  };
  struct StackHash {
    size_t operator()(const std::vector<uint32_t>& ids) const noexcept {
      uint64_t hash = ids.size();
      for (const uint32_t id : ids) hash = mix(hash, id);
      return hash;
    }
  };

  LocationId place(const PerfSample& sample, uint64_t address, bool kernel, bool is_return);
  LocationId add_place(const Key& key, uint64_t address);
  SpaceId jit_space(uint32_t pid);
  std::string root(const PerfSample& sample);

  Recording& recording_;
  PerfProcesses& processes_;
  const ReadOptions& options_;
  Places places_;
  std::unordered_map<Key, LocationId, KeyHash> locations_;
  std::unordered_map<uint32_t, SpaceId> jit_spaces_;
  std::unordered_map<std::string, uint32_t> roots_;
  std::unordered_map<std::vector<uint32_t>, uint32_t, StackHash> sums_;  // root and places
  std::vector<uint32_t> ids_;
};

}  // namespace memflame
