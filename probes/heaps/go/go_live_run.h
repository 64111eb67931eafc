// SPDX-License-Identifier: BSD-2-Clause
// What runs over Go's own heap profiles have in common, be it the profile of one process
// (go_session.h) or of all that are asked for (go_heaps.h): readings become the same figures, looks
// and recordings as those of the other collectors (probes/run/session.h,
// probes/inside/inside_session.h). Figures are all that is in use, also what was allocated before
// the run. Nobody knows how old a block is, so there are no surveys and no blocks.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/history.h"
#include "probes/heaps/go/go_figures.h"
#include "probes/probe.h"
#include "probes/processes/processes.h"
#include "probes/run/live_run.h"
#include "probes/run/looks.h"
#include "probes/run/run_figures.h"
#include "probes/stacks/stack_log.h"

namespace memflame {

class GoLiveRun : public LiveRun, protected RunFigures {
 public:
  Snapshot snapshot(const SnapshotOptions& options) override;
  Recording recording_of(std::span<const LiveStack* const> stacks, bool by_count) override;
  Look look(History& history, bool survey) override;
  TrackId track_of(uint64_t key) const override;
  Recording so_far() override;
  Losses losses() const override { return {}; }
  std::string sampling() const override { return sampling_in_words(); }
  std::vector<pid_t> living() const override { return processes_.os().living(); }
  int64_t resident_bytes() const override { return processes_.os().resident_bytes(); }
  std::optional<double> memory_pressure() const override { return processes_.memory_pressure(); }

 protected:
  // `exact_counters`: see Processes. Both others must outlive this.
  GoLiveRun(const Probe& probe, const ProbeOptions& options, bool exact_counters);

  virtual void refresh() = 0;  // reads the profiles again
  virtual std::vector<ValueType> types() const = 0;

  // The sums so far, without their processes.
  Recording sums();
  // The process of a space has ended, at a moment of the monotonic clock.
  void take_end(SpaceId space, pid_t pid, uint64_t now_ns);

  const Probe& probe_;
  const ProbeOptions& options_;
  Processes processes_;
  StackLog log_;
  uint64_t armed_ns_ = 0;

 private:
  const StackLog& stacks() const override { return log_; }
  const Processes& processes() const override { return processes_; }
  void catch_up() override {}
  void for_each_block(const VisitBlock&) override {}
  uint64_t unseen_frees() const override { return 0; }

  std::optional<Looks> looks_;
};

}  // namespace memflame
