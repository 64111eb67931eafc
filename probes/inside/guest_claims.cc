// SPDX-License-Identifier: BSD-2-Clause
// Forked children that ask for an entry, in memory that any process of the run can write.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "probes/inside/guests.h"
#include "probes/system/procfs.h"

namespace memflame::inside {

// Claims, and children that found no entry, are told in memory that any process can write.
bool Guests::can_have_begun(uint64_t processes) const {
  return processes <= most_begun(monotonic_ns() - began_ns_);
}

// Children find no entry only while nearly all are taken.
bool Guests::can_have_refused(uint64_t processes) const {
  return processes == 0 || (most_at_once_ >= most_processes / 2 && can_have_begun(processes));
}

// What an agent puts there, not what a program leaves that writes over the exchange.
bool Guests::can_be_claim(const Process& claim) const {
  const uint64_t began = taken_once(claim.began);
  return taken_once(claim.parent) < most_processes && began >= began_ticks_ && began <= now_ticks();
}

uint64_t Guests::no_entry() const {
  const uint64_t refused = taken_once(parts_.exchange.control().refused);
  return no_entry_ + (can_have_refused(refused) ? refused : 0);
}

uint64_t Guests::unknown_claims() const {
  return can_have_begun(unknown_claims_) ? unknown_claims_ : 0;
}

void Guests::take_claims() {
  const uint32_t used = std::min(taken_once(parts_.exchange.control().processes), most_processes);
  for (uint32_t i = 0; i < used; ++i)
    if (entries_[i].pid == 0 && taken_once(parts_.exchange.process(i).state) == state_asking)
      let_in_child(i);
}

void Guests::let_in_child(uint32_t index) {
  Process& shared = parts_.exchange.process(index);
  const pid_t pid = claimant(shared);
  const uint32_t parent = taken_once(shared.parent);
  if (pid == 0) ++(can_be_claim(shared) ? unknown_claims_ : impossible_claims_);
  if (pid == 0 || !is_wanted(pid)) return publish(shared.state, uint32_t{state_refused});
  Arrival arrival{.pid = pid,
                  .process = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))),
                  .time = taken_once(shared.began),
                  .parent = parent,
                  .is_running = false};
  if (!begin(index, std::move(arrival))) return publish(shared.state, uint32_t{state_free});
  open(index);
}

// Whether a process may be the one that claims an entry: it has the run's memory, and no entry yet.
// `own_pid`: in its own PID namespace; 0 = not known.
bool Guests::may_claim(pid_t pid, uint32_t own_pid) const {
  if (by_pid_.contains(pid)) return false;
  const std::string ids = status_field(read_file(proc_path(pid, "status")), "NSpid");
  const size_t last = ids.find_last_of(" \t");
  const std::string own = last == std::string::npos ? ids : ids.substr(last + 1);
  return (own_pid == 0 || own == std::to_string(own_pid)) && parts_.exchange.is_member(pid);
}

// The child that waits for an answer; 0 if it is not found. Its parent may have ended.
pid_t Guests::claimant(const Process& claim) const {
  const uint32_t own_pid = taken_once(claim.pid), parent = taken_once(claim.parent);
  const auto fits = [&](pid_t pid) { return may_claim(pid, own_pid); };
  if (own_pid != 0 && fits(static_cast<pid_t>(own_pid))) return static_cast<pid_t>(own_pid);
  if (parent < most_processes && entries_[parent].pid != 0) {
    const std::vector<pid_t> children = children_of(entries_[parent].pid);
    if (const auto child = std::ranges::find_if(children, fits); child != children.end())
      return *child;
  }
  if (own_pid == 0) return 0;
  const std::vector<pid_t> all = all_pids();
  const auto found = std::ranges::find_if(all, fits);
  return found != all.end() ? *found : 0;
}

}  // namespace memflame::inside
