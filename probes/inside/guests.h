// SPDX-License-Identifier: BSD-2-Clause
// The processes that agents have joined the run from: their address spaces, rings and code, from
// their Hello or claim to their end. A Hello of a pid that is known already means that the process
// runs another program now; a claim, that the child of a known process has allocated.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "probes/inside/agent_counts.h"
#include "probes/inside/code_tables.h"
#include "probes/inside/exchange/exchange.h"
#include "probes/inside/live_blocks.h"
#include "probes/inside/ring_reader.h"
#include "probes/inside/uncovered.h"
#include "probes/processes/exit_status.h"
#include "probes/processes/processes.h"
#include "probes/processes/spaces.h"

namespace memflame::inside {

class Guests {
 public:
  struct Parts {
    Exchange& exchange;
    RingReader& reader;
    LiveBlocks& blocks;
    CodeTables& code;
    Processes& processes;
    Uncovered& uncovered;
  };
  // `first`: the processes that are to be watched; the only ones if children are not followed.
  Guests(const Parts& parts, std::vector<pid_t> first, bool follow_children);

  // Makes ready for a process that exists, in which an agent is about to speak: its space begins
  // now, and its code is published. Returns its index in the exchange. Call refresh() if it maps
  // code. Throws Error if it has gone, or there is no room.
  uint32_t expect(pid_t pid);
  void refresh(uint32_t index);
  // Those that live, with their indexes.
  const std::map<pid_t, uint32_t>& living() const { return by_pid_; }
  // A process whose agent is gone, because it runs another program now.
  void lose(pid_t pid);

  // Lets in those that have come, and answers those that met unknown code.
  void poll();
  // Sees which processes have ended. Takes 1 µs for each.
  void see_ends();

  bool knows(pid_t pid) const { return by_pid_.contains(pid) || left_.contains(pid); }
  // When a thread last asked for code (CLOCK_MONOTONIC); 0 = never.
  uint64_t asked_ns() const { return asked_ns_; }
  size_t met() const { return met_; }  // address spaces in all
  SpaceId new_space() { return SpaceId{++last_space_}; }
  uint64_t no_entry() const;        // turned away because all entries are taken
  uint64_t unknown_claims() const;  // of children that were not found

  AgentCounts counts() const;  // of all processes

 private:
  struct Entry {
    UniqueFd process;  // readable when it has ended
    pid_t pid = 0;     // 0: free
    SpaceId space;
    uint32_t answered = 0;
    uint64_t answered_ns = 0;
    uint64_t began_ns = 0, began_ticks = 0;
    bool is_expected = false;  // its agent has not spoken yet
  };
  // One that has joined. A child that was forked has the index of its parent.
  struct Arrival {
    pid_t pid = 0;
    UniqueFd process;
    uint64_t time = 0;  // TSC
    std::optional<uint32_t> parent;
    bool is_running = false;  // for a while: the agent comes into it
  };
  // One that was let in, until it has joined.
  struct Joiner {
    Guest guest;
    uint32_t index = 0;
  };
  bool is_wanted(pid_t pid) const;
  void let_in(Guest guest);
  void refuse(const Guest& guest);
  void hear_joiners();
  void fail(Joiner joiner, uint8_t answer);
  void take_claims();
  void let_in_child(uint32_t index);
  pid_t claimant(const Process& claim) const;
  bool may_claim(pid_t pid, uint32_t own_pid) const;
  void open(uint32_t index);
  uint32_t take_entry();
  bool begin(uint32_t index, Arrival arrival);
  SpaceId begin_space(const Arrival& arrival);
  void answer(uint32_t index);
  void publish_code(uint32_t index);
  bool expect_end(int process, uint32_t index);
  void end(uint32_t index);
  bool can_have_begun(uint64_t processes) const;
  bool can_have_refused(uint64_t processes) const;
  bool can_be_claim(const Process& claim) const;
  void add_counts(AgentCounts& counts, uint32_t index, uint32_t rings) const;

  Parts parts_;
  std::vector<pid_t> first_;
  bool follow_children_;
  std::vector<Entry> entries_;        // by index in the exchange
  UniqueFd ends_;                     // an epoll of their processes
  std::map<pid_t, uint32_t> by_pid_;  // those that live
  std::set<pid_t> left_;              // those that have ended
  std::vector<Joiner> joiners_;
  AgentCounts ended_;
  uint32_t last_space_ = 0;
  size_t met_ = 0;
  uint64_t asked_ns_ = 0;
  uint64_t no_entry_ = 0;
  size_t most_at_once_ = 0;
  uint64_t unknown_claims_ = 0, impossible_claims_ = 0;
  uint64_t began_ns_ = monotonic_ns(), began_ticks_ = now_ticks();
  uint32_t arrivals_ = 0;  // claims that were seen
  OomKills oom_kills_;
};

}  // namespace memflame::inside
