// SPDX-License-Identifier: BSD-2-Clause
// The operating system's figures for each watched address space at its start and at its end.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/recording.h"
#include "probes/bpf/shared.h"
#include "probes/processes/procfs.h"

namespace memflame {

class OsLedger {
 public:
  // `exact_counters`: the kernel's resident counters hold everything (since 6.2).
  explicit OsLedger(bool exact_counters) : exact_counters_(exact_counters) {}

  void adopt(SpaceId space, pid_t pid);
  // From BPF: a space begins (fork, exec, found), is about to end, or ends.
  void take(const bpf::space_record& record);

  // Reads the start figures of all adopted processes; visits each with the kernel's counters.
  template <class Visit>
  void read_starts(Visit visit) {
    for (auto& [id, entry] : entries_) {
      const std::optional<OsMemory> now = entry.ended ? std::nullopt : read_memory(entry.pid);
      if (!now) continue;
      entry.start = exact_counters_ ? now : read_memory_by_walk(entry.pid);
      visit(id, *now);
    }
  }
  // A process that is killed leaves no figures behind, so recent ones are kept.
  void poll();
  void read_ends();

  // Figures of spaces that have ended are not known any more.
  void forget(std::span<const SpaceId> spaces);

  bool has_ended(SpaceId space) const {
    const auto found = entries_.find(space.index);
    return found == entries_.end() ? space.index < forgotten_.size() && forgotten_[space.index]
                                   : found->second.ended;
  }
  uint64_t ends() const { return ends_; }  // how many spaces have ended
  // Whether start and end are known, so that what was captured there can be compared.
  bool has_figures(SpaceId space) const;
  // Sum over the spaces with figures; none if there are spaces, and all lack them.
  std::optional<OsMemory> growth() const;
  // Adds `row` to what is compared, and a note if it is not known (then it has no figure of the
  // OS), or if it leaves out spaces.
  void compare(Reconciliation row, Recording& recording) const;
  // Spaces without figures, and those whose end was read somewhat too early.
  size_t without_figures() const;
  size_t approximate() const;

  // Sum of a column over the stacks of spaces with figures.
  int64_t captured(const Recording& recording, size_t column) const;

  std::vector<pid_t> pids() const;
  // The sum over the spaces that live, as poll() has read it last; none if it has read nothing.
  std::optional<OsMemory> last_reading() const;
  int64_t resident_bytes() const;     // of those that live, now; pages they share count for each
  std::vector<pid_t> living() const;  // of these, the ones that have not ended
  // The same with their spaces; each process once, with its newest.
  std::vector<std::pair<SpaceId, pid_t>> living_spaces() const;

 private:
  struct Entry {
    pid_t pid = 0;
    std::optional<OsMemory> start, end, last;
    bool ended = false;
    bool is_approximate = false;
  };
  std::optional<OsMemory> read_now(pid_t pid) const {
    return exact_counters_ ? read_memory(pid) : read_memory_by_walk(pid);
  }

  bool exact_counters_;
  uint64_t ends_ = 0;
  std::map<uint32_t, Entry> entries_;  // by space
  std::vector<bool> forgotten_;        // by space
};

}  // namespace memflame
