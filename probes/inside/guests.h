// SPDX-License-Identifier: BSD-2-Clause
// The processes that agents have joined the run from: their address spaces, rings and code, from
// their Hello to their end. A Hello of a pid that is known already means that the process runs
// another program now.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "probes/inside/code_tables.h"
#include "probes/inside/exchange.h"
#include "probes/inside/live_blocks.h"
#include "probes/inside/ring_reader.h"
#include "probes/inside/uncovered.h"
#include "probes/processes/processes.h"

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
  size_t met() const { return met_; }              // address spaces in all
  uint64_t no_entry() const { return no_entry_; }  // turned away because all entries are taken

  // What agents counted, of all processes.
  struct Counts {
    uint64_t reentered = 0, lost = 0, lost_frees = 0, waited_us = 0;
    uint64_t checked = 0, differing = 0;  // stacks walked twice, by an agent made for tests
    int64_t lost_bytes = 0;
    uint64_t sample_ticks = 0;
    uint64_t scripts_unread = 0;
    std::array<size_t, python_states> python{};  // address spaces, by PythonState
    void add(const Process& process);
  };
  Counts counts() const;

 private:
  struct Entry {
    UniqueFd process;  // readable when it has ended
    pid_t pid = 0;     // 0: free
    SpaceId space;
    uint32_t answered = 0;
    uint64_t answered_ns = 0;
    bool is_expected = false;  // its agent has not spoken yet
  };
  void let_in(const Guest& guest);
  uint32_t free_entry();
  uint32_t begin(const Guest& guest, bool is_running);
  SpaceId begin_space(const Guest& guest, bool is_running);
  void answer(uint32_t index);
  void publish_code(uint32_t index);
  bool expect_end(int process, uint32_t index);
  void end(uint32_t index);

  Parts parts_;
  std::vector<pid_t> first_;
  bool follow_children_;
  std::vector<Entry> entries_;        // by index in the exchange
  UniqueFd ends_;                     // an epoll of their processes
  std::map<pid_t, uint32_t> by_pid_;  // those that live
  std::set<pid_t> left_;              // those that have ended
  Counts ended_;
  uint32_t last_space_ = 0;
  size_t met_ = 0;
  uint64_t asked_ns_ = 0;
  uint64_t no_entry_ = 0;
};

}  // namespace memflame::inside
