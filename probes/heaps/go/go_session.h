// SPDX-License-Identifier: BSD-2-Clause
// A run over the heap profile that one Go program keeps, until it ends or is killed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "probes/heaps/go/go_figures.h"
#include "probes/heaps/go/go_kill.h"
#include "probes/heaps/go/go_live_run.h"
#include "probes/heaps/go/go_process.h"
#include "probes/probe.h"
#include "probes/run/run.h"

namespace memflame {

class GoHeapSession : public GoLiveRun {
 public:
  // Takes the first reading. Both must outlive this. Throws Error.
  GoHeapSession(const Probe& probe, const ProbeOptions& options);

  pid_t pid() const { return process_.pid(); }
  uint64_t arm();  // when that was (CLOCK_MONOTONIC)
  void poll();     // about 10 ms
  void disarm();   // takes the last reading

  void read_pss() override { processes_.read_pss(); }
  Losses losses() const override { return killed_ ? killed_->losses() : Losses(); }

  Recording finish();
  void describe(RunInfo& info) const;
  uint64_t sampled_blocks() const;  // since the program began
  uint64_t live_bytes() const;

 private:
  void add_figures(size_t probe, std::span<const ValueType> types, Rows& rows) override;
  void for_each_sum(const VisitSum& visit) override;
  bool is_sampled() const override { return heap_.rate > 1; }
  std::string sampling_in_words() const override { return go_sampling_in_words(heap_.rate); }
  void refresh() override;  // unless it was read a moment ago
  std::vector<ValueType> types() const override;

  void take(GoHeap heap);
  void see_end();
  uint64_t key_of(const GoBucket& bucket);
  void add_notes(Recording& recording) const;

  GoProcess process_;
  std::optional<GoKillWatch> kill_;  // with the rights for BPF
  std::optional<GoKilled> killed_;   // if the process was killed
  GoHeap heap_;
  std::map<std::vector<uint64_t>, uint64_t> keys_;  // of stacks, by their addresses
  GoSums sums_;
  uint64_t read_ns_ = 0, ended_ns_ = 0;
  uint64_t unread_ = 0;  // readings that failed, because the profile changed all the time
};

}  // namespace memflame
