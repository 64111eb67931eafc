// SPDX-License-Identifier: BSD-2-Clause
// A run in progress, as its observers see it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/history.h"
#include "core/losses.h"
#include "core/recording.h"
#include "probes/run/event_log.h"
#include "probes/run/overhead.h"
#include "probes/run/snapshot.h"

namespace memflame {

class LiveRun {
 public:
  LiveRun() = default;
  LiveRun(const LiveRun&) = delete;
  LiveRun& operator=(const LiveRun&) = delete;
  virtual ~LiveRun() = default;

  // The blocks that are outstanding now. Only for probes that follow blocks.
  virtual Snapshot snapshot(const SnapshotOptions& options) = 0;
  // Some stacks of a snapshot as a recording, as if the run had ended then: see show_live().
  virtual Recording recording_of(std::span<const LiveStack* const> stacks, bool by_count) = 0;
  // What is new since the look before, and the tables that it refers to: Looks::take(). Give it the
  // same history each time.
  virtual Look look(History& history, bool survey) = 0;
  // The events of blocks since the call before, if the run was asked for them
  // (ProbeOptions::events), and how many wait. Their stacks and threads are in the tables of the
  // history, which is that of look().
  virtual EventBatch take_events(History& /*history*/) { return {}; }
  virtual size_t waiting_events() const { return 0; }
  // They cannot be taken for a while. A run that makes programs wait for that ends it: events for
  // which there is no room are lost then, see EventLog.
  virtual void wait_no_more() {}
  // Gives back what is kept of processes that have ended, in the tables of the history, too.
  // Returns their tracks, which belong to other stacks from now on. With
  // ProbeOptions::forgets_ended: of all that had ended by the time of this look, as nobody will ask
  // again for their figures. Otherwise only if there are many, and what they left is that of
  // estates then (probes/run/estates.h).
  virtual std::vector<TrackId> forget(const Look& /*look*/, History& /*history*/) { return {}; }
  // The same for a history that is being written: what many ended processes left is that of estates
  // in the looks that follow, and no longer theirs. All events up to now must have been taken. Once
  // all of that is written, let_go() gives back what leaves.
  virtual Leaving hand_over(History& /*history*/) { return {}; }
  virtual void let_go(const Leaving& /*leaving*/, History& /*history*/) {}
  // Reads PSS if it is time, for the looks that follow: PssReadings. What it costs is bounded
  // there, so it is not a part of a look, whose cost decides when the next one is taken.
  virtual void read_pss() = 0;
  // The track of a stack of a snapshot; none if no look has seen it.
  virtual TrackId track_of(uint64_t key) const = 0;
  // The result so far, without the OS's figures; its only notes are those on filters.
  virtual Recording so_far() = 0;

  virtual Losses losses() const = 0;  // up to now
  // With a budget (--max-overhead): what the run has cost its target until now.
  virtual std::optional<Overhead> overhead() const { return std::nullopt; }
  // What the run may cost its target from now on: a part of its budget, above 0 and up to 1.
  // Whether the run must end is still decided by the whole of it.
  virtual void set_budget_share(double /*share*/) {}
  // The rate of samples as it is now, "1 sample per 512 KiB"; "" = all blocks count.
  virtual std::string sampling() const { return ""; }
  // Memory of its tables in the kernel, in bytes, which is nobody's own.
  virtual uint64_t table_bytes() const { return 0; }
  virtual std::vector<pid_t> living() const = 0;  // the watched processes that have not ended
  // Resident memory of all watched processes together, now, in bytes.
  virtual int64_t resident_bytes() const = 0;
  // The percentage of the last ten seconds in which some task waited for memory: the maximum of the
  // watched cgroups, else that of the system. None if the kernel does not tell (CONFIG_PSI).
  virtual std::optional<double> memory_pressure() const = 0;
};

}  // namespace memflame
