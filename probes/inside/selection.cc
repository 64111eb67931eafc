// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/selection.h"

#include "core/units.h"
#include "probes/processes/procfs.h"
#include "probes/processes/spaces.h"

namespace memflame::inside {
namespace {

constexpr uint64_t selection_interval_ns = 2'000'000'000;
constexpr size_t most_kept = 4096, most_told = 4;

std::string processes_in_words(size_t count) {
  return with_commas(static_cast<int64_t>(count)) + (count == 1 ? " process" : " processes");
}

}  // namespace

void Selection::look(const std::function<std::vector<pid_t>()>& present,
                     const std::function<bool(pid_t)>& is_accounted_for) {
  if (monotonic_ns() < next_ns_) return;
  next_ns_ = monotonic_ns() + selection_interval_ns;
  look_again(present, is_accounted_for);
}

void Selection::look_again(const std::function<std::vector<pid_t>()>& present,
                           const std::function<bool(pid_t)>& is_accounted_for) {
  for (const pid_t pid : present())
    if (later_.size() < most_kept && !refused_.contains(pid) && !is_accounted_for(pid))
      later_[pid] = read_comm(pid);
  // A child whose agent had not spoken yet, or that was found to run another program.
  std::erase_if(later_, [&](const auto& each) { return is_accounted_for(each.first); });
}

std::vector<std::string> Selection::notes() const {
  std::vector<std::string> notes;
  if (!refused_.empty()) {
    notes.push_back(processes_in_words(refused_.size()) +
                    " of those that were asked for could not be watched");
    for (const auto& [pid, why] : refused_) {
      if (notes.size() > most_told) break;
      notes.push_back(why);
    }
    if (refused_.size() > most_told)
      notes.push_back("and " + processes_in_words(refused_.size() - most_told) + " more");
  }
  if (later_.empty()) return notes;
  std::string names;
  size_t told = 0;
  for (const auto& [pid, name] : later_)
    if (++told <= most_told)
      names += (names.empty() ? "" : ", ") + name + " " + std::to_string(pid);
  if (told > most_told) names += ", …";
  notes.push_back(processes_in_words(later_.size()) +
                  (later_.size() == 1 ? " that began later was" : " that began later were") +
                  " not watched (" + names +
                  "): memflame's agent comes into those that run when counting begins, and into "
                  "their forked children; as root, the kernel's collector sees all");
  return notes;
}

}  // namespace memflame::inside
