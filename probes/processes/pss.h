// SPDX-License-Identifier: BSD-2-Clause
// PSS of the watched processes: resident memory in which a page that N processes share counts as
// 1/N of a page in each. A sum over processes counts shared pages once.
//
// The kernel computes it anew for each reading: it walks the page tables with the target's mmap
// lock held for reading, about 14 ms for each GiB in pages of 4 KiB (measured on 2 GiB). Meanwhile
// the target's mmap(), munmap() and brk() wait. So a reading takes place every 10 s at most, takes
// at most 1 % of the time, and none takes place for more resident memory than `most_resident`.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/ids.h"

namespace memflame {

class PssReadings {
 public:
  static constexpr uint64_t least_interval_ns = 10'000'000'000;
  static constexpr int64_t most_resident = int64_t{16} << 30;  // bytes; read in about 0.2 s
  static constexpr uint64_t waits_per_cost = 100;              // 1 % of the time

  using Processes = std::vector<std::pair<SpaceId, pid_t>>;
  // Where the figures come from; tests have other sources.
  struct Sources {
    std::function<uint64_t()> now_ns;
    std::function<std::string(pid_t)> rollup;  // text of smaps_rollup, "" if it cannot be read
    std::function<bool(pid_t)> lives;          // has memory that could be read
  };
  PssReadings();  // the system
  explicit PssReadings(Sources sources) : sources_(std::move(sources)) {}

  bool is_due() const { return sources_.now_ns() >= next_ns_; }
  // Reads all if it is time. `resident`: bytes of all of them together.
  void read(const Processes& processes, int64_t resident);
  // Bytes of those of `processes` that have been read, as they were then; none if the last reading
  // failed, or has none of them.
  std::optional<int64_t> sum(const Processes& processes) const;
  // Says why figures are missing or rare; "" if none are.
  std::string note() const;

 private:
  Sources sources_;
  uint64_t next_ns_ = 0, longest_ns_ = 0;  // time; interval
  std::map<SpaceId, int64_t> bytes_;
  bool is_refused_ = false, is_too_large_ = false;
};

}  // namespace memflame
