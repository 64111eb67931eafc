// SPDX-License-Identifier: BSD-2-Clause
#include "probes/waste/touched_pages.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "probes/processes/procfs.h"
#include "probes/processes/spaces.h"

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
constexpr uint64_t is_present = 1U << 3U, is_swapped = 1U << 4U;

// Bits in an entry of /proc/PID/pagemap.
constexpr uint64_t entry_touched = uint64_t{1} << 63U | uint64_t{1} << 62U;
constexpr size_t most_entries = 16384;

}  // namespace

TouchedPages::TouchedPages(pid_t pid, uint64_t deadline_ns)
    : pagemap_(::open(proc_path(pid, "pagemap").c_str(), O_RDONLY | O_CLOEXEC)),
      deadline_ns_(deadline_ns) {}

bool TouchedPages::is_late() { return monotonic_ns() > deadline_ns_; }

std::optional<uint64_t> TouchedPages::count(uint64_t from, uint64_t to) {
  if (!pagemap_ || from > to) return std::nullopt;
  if (from == to) return 0;
  if (can_scan_) {
    if (const auto pages = count_by_scan(from, to)) return pages;
    if (can_scan_) return std::nullopt;
  }
  return count_by_reading(from, to);
}

std::optional<uint64_t> TouchedPages::count_by_scan(uint64_t from, uint64_t to) {
  std::array<ScanRegion, 256> regions{};
  uint64_t pages = 0;
  while (from < to) {
    ScanArgument argument{};
    argument.size = sizeof(argument);
    argument.start = from;
    argument.end = to;
    argument.regions = reinterpret_cast<uint64_t>(regions.data());
    argument.region_count = regions.size();
    argument.any_of = argument.returned = is_present | is_swapped;
    const int found = ::ioctl(pagemap_.get(), pagemap_scan, &argument);
    if (found < 0) {
      can_scan_ = errno != ENOTTY && errno != EINVAL;
      return std::nullopt;
    }
    for (int i = 0; i < found; ++i) {
      const ScanRegion& region = regions.at(static_cast<size_t>(i));
      pages += (region.end - region.start) / waste_page;
    }
    if (argument.walk_end <= from || is_late()) return std::nullopt;
    from = argument.walk_end;
  }
  return pages;
}

std::optional<uint64_t> TouchedPages::count_by_reading(uint64_t from, uint64_t to) {
  uint64_t pages = 0;
  for (uint64_t page = from / waste_page; page < to / waste_page;) {
    const size_t wanted = std::min<uint64_t>(to / waste_page - page, most_entries);
    entries_.resize(wanted);
    const ssize_t got = ::pread(pagemap_.get(), entries_.data(), wanted * sizeof(uint64_t),
                                static_cast<off_t>(page * sizeof(uint64_t)));
    if (got != static_cast<ssize_t>(wanted * sizeof(uint64_t)) || is_late()) return std::nullopt;
    pages +=
        static_cast<uint64_t>(std::count_if(entries_.begin(), entries_.end(), [](uint64_t entry) {
          return (entry & entry_touched) != 0;
        }));
    page += wanted;
  }
  return pages;
}

}  // namespace memflame
