// SPDX-License-Identifier: BSD-2-Clause
// One run of one probe: the loaded object, its attachments, and what has come in so far.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/recording.h"
#include "probes/loading/bpf_object.h"
#include "probes/loading/kernel_features.h"
#include "probes/loading/links.h"
#include "probes/pids/pid_namespace.h"
#include "probes/probe.h"
#include "probes/processes/deaths.h"
#include "probes/processes/os_ledger.h"
#include "probes/processes/sideband.h"
#include "probes/processes/spaces.h"
#include "probes/run/stack_dump.h"
#include "probes/run/stack_log.h"
#include "probes/run/unwinder.h"

struct ring_buffer;

namespace memflame {

class Session {
 public:
  // Loads the probe's object and starts watching processes come and go. Throws Error.
  Session(const Probe& probe, const ProbeOptions& options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const ProbeOptions& options() const { return options_; }
  const KernelFeatures& features() const { return features_; }
  BpfObject& object() { return object_; }
  Links& links() { return links_; }
  Spaces& spaces() { return spaces_; }
  Accounting& accounting() { return *accounting_; }

  // Makes a process a target. One that waits for exec counts from the program's first instruction.
  void add_target(pid_t pid, bool waits_for_exec);
  // All that exist now, of those the options name by pid or name, or all there are.
  void add_present_targets();

  void attach();  // the probe itself
  void arm();     // counting begins
  void disarm();  // counting ends, at once
  void poll(int timeout_ms);

  // Everything seen, as a value; the session is used up.
  Recording finish();
  // What was seen so far, while counting goes on: without the figures of the OS, and without notes.
  Recording so_far();
  bool is_armed() const { return armed_; }

  bpf::counters counters() const { return object_.counters(); }
  Losses losses() const;  // up to now
  const OsLedger& os() const { return os_; }
  const Unwinder& unwinder() const { return unwinder_; }
  const Deaths& deaths() const { return deaths_; }
  StackStatistics stacks() const { return unwinder_.statistics(counters()); }

  void count_late_attach() { ++late_attaches_; }

  // Adds to a row of the recording, by the key of a stack; used by Accounting.
  void add_row(Recording& recording, uint64_t key, const std::string& group,
               const std::vector<int64_t>& values, int64_t events);
  RawStackId row_of(Recording& recording, uint64_t key) { return stacks_.row(recording, key); }
  const StackLog& stack_log() const { return stacks_; }

 private:
  void read_log();
  Recording sums();
  void look_at_mappings();
  void look_at_ring();
  void meet(std::span<const std::byte> record);
  static int keep_record(void* session, void* data, size_t size);
  void on_record(std::span<const std::byte> record);
  void on_space(const bpf::space_record& record);
  void place(SpaceId space, uint64_t cgroup);
  void on_stack(const bpf::stack_record& record, size_t size);
  void on_copy(std::span<const std::byte> data);

  const Probe& probe_;
  ProbeOptions options_;
  KernelFeatures features_;
  PidNamespace pids_;
  BpfObject object_;
  Sideband sideband_;
  Spaces spaces_;
  std::unique_ptr<Accounting> accounting_;
  ring_buffer* ring_ = nullptr;

  Unwinder unwinder_;
  StackLog stacks_;
  // Taken from the ring, but not looked at before the log of mappings has been: then whatever a
  // record speaks of is known.
  std::vector<std::byte> waiting_;
  std::vector<std::byte> handling_;         // of it, those that are looked at now
  std::unique_ptr<bpf::copy_record> copy_;  // the one looked at
  uint64_t looked_at_mappings_ns_ = 0;
  std::optional<StackDump> dump_;
  std::optional<Cgroups> cgroups_;  // that are watched
  OsLedger os_;
  Deaths deaths_;
  uint64_t next_reading_ns_ = 0;
  uint64_t late_attaches_ = 0;
  bool armed_ = false;

  Links links_;  // last member: detached first
};

}  // namespace memflame
