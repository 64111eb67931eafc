// SPDX-License-Identifier: BSD-2-Clause
// One run of one probe: says in which order its parts act. The parts are the probe in the kernel,
// the processes it watches, the ring of records, the stacks, and the probe's own accounting.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/recording.h"
#include "probes/loading/loaded_probe.h"
#include "probes/loading/ring.h"
#include "probes/probe.h"
#include "probes/processes/processes.h"
#include "probes/run/live_run.h"
#include "probes/run/rows.h"
#include "probes/run/stack_intake.h"

namespace memflame {

class Session : public LiveRun {
 public:
  // Loads the probe's object and starts watching processes come and go. Throws Error.
  Session(const Probe& probe, const ProbeOptions& options);
  ~Session() override;

  // Makes a process a target. One that waits for exec counts from the program's first instruction.
  void add_target(pid_t pid, bool waits_for_exec);
  // All that exist now, of those the options name by pid or name, or all there are.
  void add_present_targets();

  void attach();  // the probe itself
  void arm();     // counting begins
  void disarm();  // counting ends, at once
  void poll(int timeout_ms);
  // True if going on would do harm.
  bool wants_end() const { return accounting_->wants_end(); }

  Snapshot snapshot(const SnapshotOptions& options) override;
  Recording recording_of(std::span<const LiveStack* const> stacks, bool by_count) override;
  Recording so_far() override;
  int64_t resident_bytes() const override { return processes_.os().resident_bytes(); }
  std::optional<double> memory_pressure() const override { return processes_.memory_pressure(); }

  // Everything seen, as a value; the session is used up.
  Recording finish();
  // Adds the facts that are not in the recording.
  void describe(RunInfo& info) const;

  const KernelFeatures& features() const { return loaded_.features; }
  bpf::counters counters() const { return loaded_.object.counters(); }
  uint64_t map_memory() const { return loaded_.object.map_memory(); }
  Losses losses() const;  // up to now

 private:
  std::vector<pid_t> targets_now() const;
  void prepare(bpf::config& config);
  void meet(std::span<const std::byte> record);
  void on_record(std::span<const std::byte> record);
  void on_space(const bpf::space_record& record);
  void look_at_mappings();
  Recording sums();

  const Probe& probe_;
  ProbeOptions options_;
  LoadedProbe loaded_;
  Processes processes_;
  std::unique_ptr<Accounting> accounting_;
  StackIntake stacks_;
  std::unique_ptr<Ring> ring_;  // there when the object is loaded
  uint64_t looked_at_mappings_ns_ = 0;
  uint64_t late_attaches_ = 0;
  bool armed_ = false;
};

}  // namespace memflame
