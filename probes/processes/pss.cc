// SPDX-License-Identifier: BSD-2-Clause
#include "probes/processes/pss.h"

#include <algorithm>

#include "core/units.h"
#include "probes/processes/spaces.h"
#include "probes/system/procfs.h"

namespace memflame {

PssReadings::PssReadings()
    : PssReadings({.now_ns = monotonic_ns,
                   .rollup = [](pid_t pid) { return read_file(proc_path(pid, "smaps_rollup")); },
                   .lives = has_address_space}) {}

void PssReadings::read(const Processes& processes, int64_t resident) {
  const uint64_t begin_ns = sources_.now_ns();
  if (begin_ns < next_ns_) return;
  next_ns_ = begin_ns + least_interval_ns;
  bytes_.clear();
  if (resident > most_resident) {
    is_too_large_ = true;
    return;
  }
  for (const auto& [space, pid] : processes) {
    if (const std::optional<int64_t> bytes = parse_pss(sources_.rollup(pid))) {
      bytes_[space] = *bytes;
    } else if (sources_.lives(pid)) {
      // Without one process the sum would be too low, so there is none.
      is_refused_ = true;
      bytes_.clear();
      break;
    }
  }
  const uint64_t end_ns = sources_.now_ns();
  const uint64_t wait_ns =
      std::max(least_interval_ns, waits_per_cost * (end_ns - std::min(begin_ns, end_ns)));
  longest_ns_ = std::max(longest_ns_, wait_ns);
  next_ns_ = end_ns + wait_ns;
}

std::optional<int64_t> PssReadings::sum(const Processes& processes) const {
  std::optional<int64_t> sum;
  for (const auto& [space, pid] : processes)
    if (const auto found = bytes_.find(space); found != bytes_.end())
      if (int64_t& bytes = sum ? *sum : sum.emplace(0);
          __builtin_add_overflow(bytes, found->second, &bytes))
        bytes = INT64_MAX;
  return sum;
}

std::string PssReadings::note() const {
  std::string text;
  const auto say = [&](const std::string& more) { text += (text.empty() ? "" : "; ") + more; };
  if (is_refused_)
    say("PSS is missing where /proc/PID/smaps_rollup could not be read: the kernel lacks "
        "CONFIG_PROC_PAGE_MONITOR, or memflame lacks CAP_SYS_PTRACE");
  if (is_too_large_)
    say("PSS was not read while more than " + iec_bytes(most_resident) +
        " were resident: the kernel walks over all pages for it");
  if (longest_ns_ > 2 * least_interval_ns)
    say("PSS was read every " + std::to_string(longest_ns_ / 1'000'000'000) +
        " s at the slowest: a reading took long");
  return text;
}

}  // namespace memflame
