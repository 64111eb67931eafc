// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/older_children.h"

#include <unistd.h>

#include "core/units.h"
#include "probes/system/procfs.h"

namespace memflame {
namespace {

constexpr size_t most_named = 4;

}  // namespace

std::vector<pid_t> OlderChildren::newer_of(pid_t parent) {
  const uint64_t since = start_ticks_of(::getpid());
  std::vector<pid_t> newer;
  for (const pid_t child : children_of(parent)) {
    if (child == ::getpid() || !has_address_space(child)) continue;
    if (start_ticks_of(child) >= since)
      newer.push_back(child);
    else
      older_.try_emplace(child, read_comm(child));
  }
  return newer;
}

std::string OlderChildren::note() const {
  if (older_.empty()) return "";
  std::string names, pids;
  size_t named = 0;
  for (const auto& [pid, name] : older_) {
    if (++named > most_named) break;
    names += (names.empty() ? "" : ", ") + name + " (" + std::to_string(pid) + ")";
    pids += (pids.empty() ? "" : ",") + std::to_string(pid);
  }
  if (older_.size() > most_named) names += ", …", pids += ",…";
  return with_commas(static_cast<int64_t>(older_.size())) +
         (older_.size() == 1 ? " child that was" : " children that were") +
         " there before memflame began " + (older_.size() == 1 ? "is" : "are") +
         " not watched: " + names + "; name " + (older_.size() == 1 ? "it" : "them") + " too (-p " +
         pids + "), or no children (--no-children)";
}

}  // namespace memflame
