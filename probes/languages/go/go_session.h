// SPDX-License-Identifier: BSD-2-Clause
// A run over the heap profile that a Go program keeps: readings of it become the same figures,
// looks and recordings as those of the other collectors (probes/run/session.h,
// probes/inside/inside_session.h). Figures are all that is in use, also what was allocated before
// the run. Nobody knows how old a block is, so there are no surveys and no blocks.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/history.h"
#include "probes/languages/go/go_figures.h"
#include "probes/languages/go/go_kill.h"
#include "probes/languages/go/go_process.h"
#include "probes/probe.h"
#include "probes/processes/processes.h"
#include "probes/run/live_run.h"
#include "probes/run/looks.h"
#include "probes/run/run.h"
#include "probes/run/run_figures.h"
#include "probes/run/stack_log.h"

namespace memflame {

class GoHeapSession : public LiveRun, private RunFigures {
 public:
  // Takes the first reading. Both must outlive this. Throws Error.
  GoHeapSession(const Probe& probe, const ProbeOptions& options);

  pid_t pid() const { return process_.pid(); }
  void arm();
  void poll();    // about 10 ms
  void disarm();  // takes the last reading

  Snapshot snapshot(const SnapshotOptions& options) override;
  Recording recording_of(std::span<const LiveStack* const> stacks, bool by_count) override;
  Look look(History& history, bool survey) override;
  void read_pss() override { processes_.read_pss(); }
  TrackId track_of(uint64_t key) const override;
  Recording so_far() override;
  Losses losses() const override { return killed_ ? killed_->losses() : Losses(); }
  std::string sampling() const override { return sampling_in_words(); }
  std::vector<pid_t> living() const override { return processes_.os().living(); }
  int64_t resident_bytes() const override { return processes_.os().resident_bytes(); }
  std::optional<double> memory_pressure() const override { return processes_.memory_pressure(); }

  Recording finish();
  void describe(RunInfo& info) const;
  uint64_t sampled_blocks() const;  // since the program began
  uint64_t live_bytes() const;

 private:
  const StackLog& stacks() const override { return log_; }
  const Processes& processes() const override { return processes_; }
  void catch_up() override {}
  void add_figures(size_t probe, std::span<const ValueType> types, Rows& rows) override;
  void for_each_block(const VisitBlock&) override {}
  void for_each_sum(const VisitSum& visit) override;
  bool is_sampled() const override { return heap_.rate > 1; }
  std::string sampling_in_words() const override { return go_sampling_in_words(heap_.rate); }
  uint64_t unseen_frees() const override { return 0; }

  void refresh();  // reads the profile again, unless that was a moment ago
  void take(GoHeap heap);
  void see_end();
  uint64_t key_of(const GoBucket& bucket);
  std::vector<ValueType> types() const;
  Recording sums();
  void add_notes(Recording& recording) const;

  const Probe& probe_;
  const ProbeOptions& options_;
  GoProcess process_;
  std::optional<GoKillWatch> kill_;  // with the rights for BPF
  std::optional<GoKilled> killed_;   // if the process was killed
  Processes processes_;
  StackLog log_;
  GoHeap heap_;
  std::map<std::vector<uint64_t>, uint64_t> keys_;  // of stacks, by their addresses
  GoSums sums_;
  std::optional<Looks> looks_;
  uint64_t armed_ns_ = 0, read_ns_ = 0, ended_ns_ = 0;
  uint64_t unread_ = 0;  // readings that failed, because the profile changed all the time
};

}  // namespace memflame
