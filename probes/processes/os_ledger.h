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
#include "probes/system/procfs.h"

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

  // Nothing will be forgotten: of a space that has ended, only what its figures add up to is kept.
  void add_up_ended() { adds_up_ended_ = true; }
  // Figures of spaces that have ended are not known any more.
  void forget(std::span<const SpaceId> spaces);

  // A space that stands for ended ones, all with figures or all without.
  void begin_estate(SpaceId space, bool has_figures);

  bool has_ended(SpaceId space) const {
    const auto found = entries_.find(space.index);
    return found == entries_.end() ? is_past(space.index) : found->second.ended;
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
    bool has_figures() const { return start && end; }
  };
  // A space that has ended and has no entry any more. There may be millions.
  struct Past {
    pid_t pid = 0;  // 0: there is none; below 0: of no process, it stands for several
    bool has_figures = false;
    bool is_forgotten = false;
  };
  bool is_past(uint32_t space) const { return space < past_.size() && past_[space].pid != 0; }
  Past& make_past(uint32_t space, const Entry& entry);
  size_t spaces() const { return entries_.size() + added_up_; }
  std::optional<OsMemory> read_now(pid_t pid) const {
    return exact_counters_ ? read_memory(pid) : read_memory_by_walk(pid);
  }

  bool exact_counters_;
  uint64_t ends_ = 0;
  std::map<uint32_t, Entry> entries_;  // by space
  std::vector<Past> past_;             // by space
  bool adds_up_ended_ = false;
  OsMemory past_growth_;
  size_t added_up_ = 0, added_up_without_ = 0, added_up_approximate_ = 0;
};

}  // namespace memflame
