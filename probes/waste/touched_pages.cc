// SPDX-License-Identifier: BSD-2-Clause
#include "probes/waste/touched_pages.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "probes/processes/spaces.h"
#include "probes/system/procfs.h"

namespace memflame {
namespace {

// As in <linux/fs.h> from Linux 6.7 on, which older systems do not have.
struct ScanRegion {
  uint64_t start, end, categories;
};
struct ScanArgument {
  uint64_t size, flags, start, end, walk_end, regions, region_count, most_pages;
  uint64_t inverted, all_of, any_of, returned;
};
constexpr unsigned long pagemap_scan = _IOWR('f', 16, ScanArgument);
constexpr uint64_t is_present = 1U << 3U, is_swapped = 1U << 4U, is_huge = 1U << 6U;

// Bits in an entry of /proc/PID/pagemap.
constexpr uint64_t entry_touched = uint64_t{1} << 63U | uint64_t{1} << 62U;
constexpr size_t most_touched_entries = 16384;

}  // namespace

TouchedPages::TouchedPages(pid_t pid, uint64_t deadline_ns, bool may_scan)
    : pagemap_(::open(proc_path(pid, "pagemap").c_str(), O_RDONLY | O_CLOEXEC)),
      deadline_ns_(deadline_ns),
      can_scan_(may_scan) {}

bool TouchedPages::is_late() { return monotonic_ns() > deadline_ns_; }

std::optional<uint64_t> TouchedPages::count(uint64_t from, uint64_t to) {
  counted_.clear();
  if (!find(from, to, counted_)) return std::nullopt;
  uint64_t pages = 0;
  for (const PageRun& run : counted_) pages += (run.to - run.from) / waste_page;
  return pages;
}

bool TouchedPages::find(uint64_t from, uint64_t to, std::vector<PageRun>& runs) {
  if (!pagemap_ || from > to) return false;
  if (from == to) return true;
  const size_t before = runs.size();
  bool found = can_scan_ && find_by_scan(from, to, runs);
  if (!can_scan_) {
    runs.resize(before);
    found = find_by_reading(from, to, runs);
  }
  if (!found) runs.resize(before);
  return found;
}

bool TouchedPages::find_by_scan(uint64_t from, uint64_t to, std::vector<PageRun>& runs) {
  std::array<ScanRegion, 256> regions{};
  while (from < to) {
    ScanArgument argument{};
    argument.size = sizeof(argument);
    argument.start = from;
    argument.end = to;
    argument.regions = reinterpret_cast<uint64_t>(regions.data());
    argument.region_count = regions.size();
    argument.any_of = is_present | is_swapped;
    argument.returned = argument.any_of | is_huge;
    const int found = ::ioctl(pagemap_.get(), pagemap_scan, &argument);
    if (found < 0) {
      can_scan_ = errno != ENOTTY && errno != EINVAL;
      return false;
    }
    for (int i = 0; i < found; ++i) {
      const ScanRegion& region = regions.at(static_cast<size_t>(i));
      runs.push_back(
          {.from = region.start, .to = region.end, .is_huge = (region.categories & is_huge) != 0});
    }
    if (argument.walk_end <= from || is_late()) return false;
    from = argument.walk_end;
  }
  return true;
}

bool TouchedPages::find_by_reading(uint64_t from, uint64_t to, std::vector<PageRun>& runs) {
  for (uint64_t page = from / waste_page; page < to / waste_page;) {
    const size_t wanted = std::min<uint64_t>(to / waste_page - page, most_touched_entries);
    entries_.resize(wanted);
    const ssize_t got = ::pread(pagemap_.get(), entries_.data(), wanted * sizeof(uint64_t),
                                static_cast<off_t>(page * sizeof(uint64_t)));
    if (got != static_cast<ssize_t>(wanted * sizeof(uint64_t)) || is_late()) return false;
    for (size_t i = 0; i < wanted; ++i) {
      if ((entries_[i] & entry_touched) == 0) continue;
      const uint64_t at = (page + i) * waste_page;
      if (i != 0 && (entries_[i - 1] & entry_touched) != 0)
        runs.back().to += waste_page;
      else
        runs.push_back({at, at + waste_page});
    }
    page += wanted;
  }
  return true;
}

std::vector<PageRun> touched_runs(TouchedPages& pages, std::span<const MapsLine> maps,
                                  std::span<const PageRun> ranges) {
  std::vector<PageRun> runs;
  size_t at = 0;
  for (const PageRun& range : ranges) {
    while (at < maps.size() && maps[at].end <= range.from) ++at;
    for (size_t i = at; i < maps.size() && maps[i].start < range.to; ++i) {
      const uint64_t from = std::max(range.from, maps[i].start);
      const uint64_t to = std::min(range.to, maps[i].end);
      if (!pages.find(from, to, runs)) runs.push_back({from, to, false});
    }
  }
  return runs;
}

}  // namespace memflame
