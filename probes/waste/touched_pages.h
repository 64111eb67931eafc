// SPDX-License-Identifier: BSD-2-Clause
// Which pages of a process were ever touched: those that are in memory or in swap space. The
// process is not stopped.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "core/units.h"
#include "probes/unique_fd.h"

namespace memflame {

inline constexpr uint64_t waste_page = page_bytes;

class TouchedPages {
 public:
  // Stops looking at `deadline_ns` (CLOCK_MONOTONIC).
  TouchedPages(pid_t pid, uint64_t deadline_ns);

  // How many of the pages in [from, to) were touched; both are multiples of waste_page. None if
  // that cannot be told: no right, the process has ended, or it is too late.
  std::optional<uint64_t> count(uint64_t from, uint64_t to);

 private:
  std::optional<uint64_t> count_by_scan(uint64_t from, uint64_t to);
  std::optional<uint64_t> count_by_reading(uint64_t from, uint64_t to);
  bool is_late();

  UniqueFd pagemap_;
  uint64_t deadline_ns_;
  bool can_scan_ = true;  // PAGEMAP_SCAN, which passes over what is not mapped
  std::vector<uint64_t> entries_;
};

}  // namespace memflame
