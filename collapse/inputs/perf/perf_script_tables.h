// SPDX-License-Identifier: BSD-2-Clause
// Shared by all threads that read one `perf script`: what one has learned, all know. Looking takes
// no lock, learning does.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collapse/inputs/perf/perf_script_events.h"
#include "core/hash_cache.h"
#include "core/profile.h"
#include "core/spin_lock.h"

namespace memflame {

// Frames, stacks and events by number.
class PerfTables {
 public:
  // `shared`: several threads use it.
  explicit PerfTables(bool shared)
      : shared_(shared),
        lines_(most_lines, shared),
        samples_(most_samples, shared),
        known_rows_(SIZE_MAX, shared) {}

  // `line`: the hash of the line that has it, which lines() knows then.
  FrameId frame(FrameKind kind, std::string_view function, std::string_view module = {},
                const Hash128* line = nullptr);
  // The same frame at a place of a source file.
  FrameId at(FrameId frame, std::string_view file, uint32_t line);

  // The number of an event, from 0. Throws Error if there are more than a profile can have columns.
  uint32_t event(std::string_view name);

  // The row of values for an event and a stack, from 1. `key`: the event, the root or 0, then the
  // frames from the leaf on; `hash` is of its bytes. `sample`: the hash of a sample that has this
  // row, which samples() knows then.
  uint32_t row(const Hash128& hash, std::span<const uint32_t> key, const Hash128* sample = nullptr);

  // The frames of lines, and the rows of samples, by hashes of which only the workers know what
  // they are of.
  const HashCache& lines() const { return lines_; }
  const HashCache& samples() const { return samples_; }

  // Call it when all threads have finished: fills in the stacks of all rows.
  void settle();
  struct Row {
    StackId stack;
    uint32_t event = 0;
  };
  Profile profile;
  std::vector<Row> rows{1};
  std::vector<std::string> events;

 private:
  // A stack that is not in the profile's tree yet: its frames from the root on, in ids_. Adding
  // many stacks in sorted order is faster than adding each at once.
  struct Waiting {
    size_t begin = 0, size = 0;
    uint32_t row = 0;
  };
  std::span<const uint32_t> path(const Waiting& waiting) const {
    return std::span(ids_).subspan(waiting.begin, waiting.size);
  }

  static constexpr size_t most_lines = size_t{1} << 20U, most_samples = size_t{1} << 18U;

  void sort_waiting();
  uint32_t locked_row(const Hash128& hash, std::span<const uint32_t> key);

  const bool shared_;
  SpinLock learning_;
  std::map<std::string, uint32_t, std::less<>> event_numbers_;
  HashCache lines_, samples_, known_rows_;
  std::vector<Waiting> waiting_;
  std::vector<uint32_t> ids_;
};

}  // namespace memflame
