// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/selection.h"

#include "core/units.h"
#include "probes/processes/procfs.h"
#include "probes/processes/spaces.h"

namespace memflame::inside {
namespace {

constexpr uint64_t selection_interval_ns = 2'000'000'000;
constexpr size_t most_kept = 4096, most_told = 4;
constexpr double youngest = 1;  // seconds

std::string processes_in_words(size_t count) {
  return with_commas(static_cast<int64_t>(count)) + (count == 1 ? " process" : " processes");
}

}  // namespace

bool Selection::is_time() const { return monotonic_ns() >= next_ns_; }

// A process that has just begun may still be without the libraries that an agent needs. The next
// look comes soon enough.
void Selection::take(pid_t pid, const Look& parts) {
  if (!parts.enter || age_seconds(pid) < youngest) {
    if (later_.size() < most_kept) later_[pid] = read_comm(pid);
    return;
  }
  const std::string name = read_comm(pid);
  if (!parts.enter(pid)) {
    if (!refused_.contains(pid) && later_.size() < most_kept) later_[pid] = name;  // gone
    return;
  }
  if (++late_ <= most_told)
    late_names_ += (late_ == 1 ? "" : ", ") + name + " " + std::to_string(pid);
}

void Selection::look(const Look& parts) {
  const std::vector<pid_t> present = parts.present();
  // Those that ended before they could be watched are told of; one whose agent has spoken since is
  // not.
  const auto is_settled = [&](const auto& each) { return parts.is_watched(each.first); };
  std::erase_if(refused_, is_settled);
  for (const pid_t pid : present) {
    if (refused_.contains(pid) || parts.is_watched(pid)) continue;
    later_.erase(pid);
    take(pid, parts);
  }
  std::erase_if(later_, is_settled);
  next_ns_ = monotonic_ns() + selection_interval_ns;
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
  if (late_ != 0)
    notes.push_back(processes_in_words(late_) +
                    (late_ == 1 ? " that began later was" : " that began later were") +
                    " watched only from some seconds after the start on (" + late_names_ +
                    (late_ > most_told ? ", …" : "") + "): what was before is not known");
  if (later_.empty()) return notes;
  std::string names;
  size_t told = 0;
  for (const auto& [pid, name] : later_)
    if (++told <= most_told)
      names += (names.empty() ? "" : ", ") + name + " " + std::to_string(pid);
  if (told > most_told) names += ", …";
  notes.push_back(
      processes_in_words(later_.size()) +
      (later_.size() == 1 ? " that began later was" : " that began later were") + " not watched (" +
      names +
      "): memflame's agent comes into those that have run for a second or two; as root, "
      "the kernel's collector sees all");
  return notes;
}

}  // namespace memflame::inside
