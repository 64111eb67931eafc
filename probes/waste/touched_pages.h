// SPDX-License-Identifier: BSD-2-Clause
// Which pages of a process were ever touched: those that are in memory or in swap space. The
// process is not stopped.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/unique_fd.h"
#include "core/units.h"
#include "probes/system/procfs.h"

namespace memflame {

inline constexpr uint64_t waste_page = page_bytes;

// Pages that follow each other, in [from, to).
struct PageRun {
  uint64_t from = 0, to = 0;
  bool known = true;  // false: they could not be looked at
  bool is_huge =
      false;  // in huge pages, of which the kernel makes all 2 MiB at once; if it says so
};

class TouchedPages {
 public:
  // Stops looking at `deadline_ns` (CLOCK_MONOTONIC). `may_scan`: by PAGEMAP_SCAN, from Linux 6.7
  // on, which passes over what is not mapped.
  TouchedPages(pid_t pid, uint64_t deadline_ns, bool may_scan = true);

  // How many of the pages in [from, to) were touched; both are multiples of waste_page. None if
  // that cannot be told: no right, the process has ended, or it is too late.
  std::optional<uint64_t> count(uint64_t from, uint64_t to);
  // Adds the pages in [from, to) that were touched. False, and nothing is added, if that cannot be
  // told.
  bool find(uint64_t from, uint64_t to, std::vector<PageRun>& runs);

 private:
  bool find_by_scan(uint64_t from, uint64_t to, std::vector<PageRun>& runs);
  bool find_by_reading(uint64_t from, uint64_t to, std::vector<PageRun>& runs);
  bool is_late();

  UniqueFd pagemap_;
  uint64_t deadline_ns_;
  bool can_scan_;
  std::vector<uint64_t> entries_;
  std::vector<PageRun> counted_;
};

// Which pages of some ranges were touched, or cannot be looked at; by address. The ranges and the
// mappings are sorted; nothing is known to be in memory outside of mappings.
std::vector<PageRun> touched_runs(TouchedPages& pages, std::span<const MapsLine> maps,
                                  std::span<const PageRun> ranges);

}  // namespace memflame
