// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/selection.h"

#include <set>

#include "core/units.h"
#include "probes/options/advice.h"

namespace memflame::inside {
namespace {

constexpr uint64_t selection_interval_ns = 2'000'000'000;
constexpr size_t most_told = 4;
constexpr double youngest = 1;  // seconds

std::string processes_in_words(size_t count) {
  return with_commas(static_cast<int64_t>(count)) + (count == 1 ? " process" : " processes");
}

}  // namespace

void Selection::Named::add(const std::string& name, pid_t pid) {
  if (++count <= most_told) names += (count == 1 ? "" : ", ") + name + " " + std::to_string(pid);
}

std::string Selection::Named::in_words() const {
  return "(" + names + (count > most_told ? ", …" : "") + ")";
}

void Selection::refuse(pid_t pid, const std::string& why) {
  Refused& refused = refused_[{pid, start_(pid)}];
  refused.why = why;
  const unsigned tries = refused.tries++;
  refused.next_ns = refused.tries < most_tries ? now_() + (first_wait_ns << tries) : UINT64_MAX;
}

// A process that has just begun may still be without the libraries that an agent needs. The next
// look comes soon enough.
void Selection::take(const Key& process, const Look& parts) {
  const pid_t pid = process.first;
  const std::string name = read_comm(pid);
  const bool was_refused = refused_.contains(process);
  if (!was_refused && (!parts.enter || age_seconds(pid) < youngest)) {
    if (later_.size() < most_kept) later_[process] = name;
    return;
  }
  if (parts.enter(pid))
    (was_refused ? again_ : late_).add(name, pid);
  else if (!refused_.contains(process) && later_.size() < most_kept)
    later_[process] = name;  // gone
}

// Those that ended before they could be watched are told of; one whose agent has spoken since is
// not.
void Selection::settle(const Look& parts) {
  const auto is_settled = [&](const auto& each) {
    const Key& process = each.first;
    return parts.is_watched(process.first) && start_(process.first) == process.second;
  };
  std::erase_if(refused_, is_settled);
  std::erase_if(later_, is_settled);
}

void Selection::forget_gone(const std::vector<pid_t>& present) {
  if (refused_.size() <= most_kept) return;
  const std::set<pid_t> living(present.begin(), present.end());
  forgotten_ += std::erase_if(refused_, [&](const auto& each) {
    const auto& [pid, start] = each.first;
    return !living.contains(pid) || start_(pid) != start;
  });
}

void Selection::look(const Look& parts) {
  const std::vector<pid_t> present = parts.present();
  settle(parts);
  for (const pid_t pid : present) {
    if (parts.is_watched(pid)) continue;
    const Key process{pid, start_(pid)};
    const auto refused = refused_.find(process);
    if (refused != refused_.end() && (!parts.enter || now_() < refused->second.next_ns)) continue;
    later_.erase(process);
    take(process, parts);
  }
  settle(parts);
  forget_gone(present);
  next_ns_ = now_() + selection_interval_ns;
}

std::vector<std::string> Selection::notes() const {
  std::vector<std::string> notes;
  if (const size_t refused = refused_.size() + forgotten_; refused != 0) {
    notes.push_back(processes_in_words(refused) +
                    " of those that were asked for could not be watched");
    for (const auto& [process, each] : refused_) {
      if (notes.size() > most_told) break;
      notes.push_back(each.why);
    }
    if (refused > most_told)
      notes.push_back("and " + processes_in_words(refused - most_told) + " more");
  }
  if (late_.count != 0)
    notes.push_back(processes_in_words(late_.count) +
                    (late_.count == 1 ? " that began later was" : " that began later were") +
                    " watched only from some seconds after the start on " + late_.in_words() +
                    ": what was before is not known");
  if (again_.count != 0)
    notes.push_back(processes_in_words(again_.count) + " that could not be watched at first " +
                    (again_.count == 1 ? "was" : "were") + " watched later " + again_.in_words() +
                    ": what was before is not known");
  if (later_.empty()) return notes;
  Named later;
  for (const auto& [process, name] : later_) later.add(name, process.first);
  notes.push_back(processes_in_words(later.count) +
                  (later.count == 1 ? " that began later was" : " that began later were") +
                  " not watched " + later.in_words() +
                  ": memflame's agent comes into those that have run for a second or two; " +
                  as_root("the kernel's collector sees all"));
  return notes;
}

}  // namespace memflame::inside
