// SPDX-License-Identifier: BSD-2-Clause
// One run. A session decides the order in which the parts of the run act: the probes in the kernel,
// the processes they watch, the ring of records, the stacks, and each probe's own accounting. The
// parts do not know the session. Most runs have one probe; several share everything but their
// figures.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/recording.h"
#include "probes/loading/ring.h"
#include "probes/processes/processes.h"
#include "probes/reach/tracing.h"
#include "probes/run/estates.h"
#include "probes/run/late_files.h"
#include "probes/run/live_run.h"
#include "probes/run/looks.h"
#include "probes/run/older_children.h"
#include "probes/run/run_figures.h"
#include "probes/run/running_probe.h"
#include "probes/run/stack_intake.h"
#include "probes/run/waste.h"
#include "probes/stacks/rows.h"

namespace memflame {

class ExitWatch;
class Observer;

// A space with the resident pages that the OS counts now.
bpf::space space_with(const OsMemory& now, bpf::space space = {});

class Session : public LiveRun, private RunFigures {
 public:
  // Loads the probes' objects, and begins to watch processes begin and end. Throws Error.
  // `observer` gets calls of functions, and must outlive this. Probes as for run_probes().
  Session(const std::vector<ProbeRun>& probes, Observer& observer);
  ~Session() override;

  // Makes a process a target. One that waits for exec is watched from its program's first
  // instruction on.
  void add_target(pid_t pid, bool waits_for_exec);
  // It is none any more: what it did remains.
  void drop_target(pid_t pid);
  bool is_target(pid_t pid) const { return watched(pid).has_value(); }
  // A program that a target is about to execute: its probes come first, and those of its libraries.
  void expect_program(pid_t pid, const std::string& file);
  // Whether all targets and programs that were named by now have their probes.
  bool is_attached() const;
  // Adds all processes of the target that exist now.
  void add_present_targets();

  void attach();   // the probes themselves
  uint64_t arm();  // counting begins; when that was (CLOCK_MONOTONIC)
  void disarm();   // counting ends at once
  // With ProbeOptions::reachable or waste. Looks at the command's memory if it is held at its end,
  // and lets it go.
  void scan_ending(ExitWatch& watch, pid_t pid);
  // Stops all watched processes that live, ends counting, scans them and lets them go: the live
  // table is then as it was when they were stopped. Call disarm() next.
  void scan_living();
  void poll(int timeout_ms);
  // True if the run must end because it would do harm.
  bool wants_end() const;

  Snapshot snapshot(const SnapshotOptions& options) override;
  Recording recording_of(std::span<const LiveStack* const> stacks, bool by_count) override;
  Look look(History& history, bool survey) override;
  EventBatch take_events(History& history) override;
  size_t waiting_events() const override;
  void read_pss() override { processes_.read_pss(); }
  std::vector<TrackId> forget(const Look& look, History& history) override;
  Leaving hand_over(History& history) override;
  void let_go(const Leaving& leaving, History& history) override;
  TrackId track_of(uint64_t key) const override;
  Recording so_far() override;
  std::vector<pid_t> living() const override { return processes_.os().living(); }
  int64_t resident_bytes() const override { return processes_.os().resident_bytes(); }
  std::optional<double> memory_pressure() const override { return processes_.memory_pressure(); }

  std::optional<Overhead> overhead() const override;
  uint64_t table_bytes() const override { return map_memory(); }
  void set_budget_share(double share) override { first().accounting->set_budget_share(share); }
  std::string sampling() const override { return is_sampled() ? sampling_in_words() : ""; }

  // Everything that was seen. The session cannot be used after that.
  Recording finish();
  // Adds the facts that are not in the recording.
  void describe(RunInfo& info) const;

  const KernelFeatures& features() const { return first().loaded.features; }
  bool is_on_functions() const;
  // Summed over all probes; the amount is that of the first.
  bpf::counters counters() const;
  uint64_t map_memory() const;
  Losses losses() const override;

 private:
  std::optional<bpf::process> watched(pid_t pid) const;  // what the kernel's programs know of it
  bool knows_all_blocks(const bpf::process& process) const;
  std::vector<ProcessWaste> waste_now();
  std::map<SpaceId, std::vector<KnownBlock>> blocks_of(std::span<const SpaceId> spaces) const;
  void scan(SpaceId space, pid_t pid, const HeldProcess& held, std::vector<KnownBlock> blocks,
            bool all_blocks_known);
  bool runs_in(SpaceId space, pid_t pid) const;
  std::vector<pid_t> targets_now() const;
  void load(bpf::config config);
  void load_follower(RunningProbe& probe, bpf::config config);
  void meet(std::span<const std::byte> record);
  void on_record(std::span<const std::byte> record);
  void on_call(const RunningProbe& probe, const bpf::call_record& record);
  void on_space(const bpf::space_record& record);
  bool is_after_end(const bpf::space_record& record) const;
  bool is_late(ModuleId file) const;
  void attach_file(const std::string& path, UniqueFd file);
  void look_at_mappings();
  void scan_for_targets();
  void add_children(std::vector<pid_t> watched);
  RunningProbe& first() { return *probes_.front(); }
  const RunningProbe& first() const { return *probes_.front(); }
  // The one that a record belongs to; null if the record is damaged.
  RunningProbe* sender(uint32_t type) const;
  Losses shared_losses() const;
  std::vector<std::string> filters() const;
  // The figures are in the kernel's tables.
  const StackLog& stacks() const override { return stacks_.log; }
  const Processes& processes() const override { return processes_; }
  bool has_spaces() const override { return first().probe.user_stacks; }
  void catch_up() override { poll(0); }
  void add_figures(size_t probe, std::span<const ValueType> types, Rows& rows) override;
  void for_each_block(const VisitBlock& visit) override;
  void for_each_sum(const VisitSum& visit) override;
  std::optional<std::map<SpaceId, PageFaults>> page_faults(
      std::span<const SpaceId> spaces) override;
  bool place(uint64_t key, RawStack& stack, std::string& group) override;
  bool is_sampled() const override { return first().accounting->is_sampled(); }
  std::string sampling_in_words() const override;
  const Scans* scans() const override { return are_scans_complete_ ? &scans_ : nullptr; }
  uint64_t unseen_frees() const override { return first().loaded.object.counters().unseen_frees; }

  Estates::Taken take_over_ended();
  Recording sums();
  Looks& looks(History& history);

  ProbeOptions options_;  // of the first probe
  Observer& observer_;
  RunningProbes probes_;
  Processes processes_;
  StackIntake stacks_;
  Estates estates_;
  std::unique_ptr<Ring> ring_;            // made when the object is loaded
  std::optional<Looks> looks_;            // made by the first look
  std::vector<RawStackId> event_stacks_;  // in the history, by their numbers in events
  uint64_t looked_at_mappings_ns_ = 0;
  uint64_t next_scan_ns_ = 0;
  uint64_t armed_ns_ = 0;
  uint64_t disarmed_ns_ = 0;  // 0: counting has not ended
  LateFiles late_files_;
  OlderChildren older_children_;
  std::set<std::string> expected_;  // programs whose libraries have their probes
  bool armed_ = false;
  Scans scans_;
  bool are_scans_complete_ = false;
  std::map<SpaceId, ProcessWaste> ended_waste_;  // of a command, when it ended
};

}  // namespace memflame
