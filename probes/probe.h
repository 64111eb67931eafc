// SPDX-License-Identifier: BSD-2-Clause
// A probe: one BPF object, how it is attached, and what becomes of its records. The table of all
// probes is in probe.cc; a new probe is a folder and a row there.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/recording.h"
#include "probes/bpf/shared.h"
#include "probes/options.h"

namespace memflame {

class BpfObject;
class Session;
struct RunInfo;

// One word after --value.
struct ProbeValue {
  std::string_view name;
  std::string_view help;
  size_t column;  // the one of `types` below that is drawn
};

// Turns a probe's events into rows, in user space. Sums made in the kernel need no events and use
// the base class as it is.
class Accounting {
 public:
  Accounting() = default;
  Accounting(const Accounting&) = delete;
  Accounting& operator=(const Accounting&) = delete;
  virtual ~Accounting() = default;

  // A space is watched from now on. A fresh one has just become another program and holds only what
  // the kernel put there; others can be read in /proc if the process still lives.
  virtual void begin(SpaceId, pid_t, bool /*fresh*/) {}
  virtual void fork(SpaceId /*parent*/, SpaceId /*child*/) {}
  // A process is watched, from before the probe is attached or from later on.
  virtual void on_target(pid_t) {}
  // Called as soon as the record is read.
  virtual void on_process(const bpf::space_record&) {}
  // Counting has begun; counting has ended.
  virtual void armed() {}
  virtual void disarmed() {}
  virtual void on_event(const bpf::event_record&) {}
  virtual void on_call(const bpf::call_record&) {}
  virtual void on_candidate(const bpf::candidate_record&) {}
  // About every 10 ms while counting.
  virtual void on_poll(Session&) {}
  // True if going on would do harm: counting then ends, whatever the user asked for.
  virtual bool wants_end() const { return false; }
  // For a look at a running run: what the stack with this key ends in, and its group. False leaves
  // the stack out, because its memory belongs to another one too.
  virtual bool place(Session&, uint64_t /*key*/, RawStack&, std::string& /*group*/) { return true; }
  // Adds the rows, keyed by stack hash. The default takes the kernel's sums. Also called while
  // counting goes on, so it must not change what is counted.
  virtual void finish(Session&, Recording&);
  // Adds losses that only this probe can have. Called twice a second for the status line.
  virtual void add_losses(Losses&) const {}
  // The recording is complete. Throws Error if nothing of its processes could be seen; may add
  // notes.
  virtual void judge(Recording&) {}
  // Adds facts that only this probe knows.
  virtual void describe(RunInfo&) const {}
};

struct Probe {
  std::string_view name;
  std::string_view help;         // one line
  std::string_view description;  // for --help: what is measured, in which unit
  std::string_view nothing;      // "no call of …": printed if nothing happened
  std::span<const ProbeValue> values;
  // Columns for options.value ("minor"/"major" for faults, pages for resident pages), and their
  // variances if events are sampled.
  std::vector<ValueType> (*types)(const ProbeOptions& options);
  // How many events added to a stack's sums in the kernel; null if the accounting adds the rows.
  int64_t (*events)(const ProbeOptions& options, const int64_t* sums) = nullptr;
  std::span<const std::byte> (*object)();
  void (*configure)(const ProbeOptions&, bpf::config&, BpfObject&);
  void (*attach)(Session&);
  // A file with code has come into a watched space; `late` if counting had begun. May be null.
  void (*attach_module)(Session&, const Module&, bool late);
  // Sets recording.meta.reconciliation and notes from the rows and session.os_growth().
  void (*reconcile)(Session&, Recording&);
  std::unique_ptr<Accounting> (*accounting)(const ProbeOptions&);
  bool has_blocks = false;  // follows blocks: its object has a map `blocks`
  bool whole_system;        // can watch all processes at once
  bool user_stacks = true;  // false: stacks are only the kernel's, and belong to no process
};

std::span<const Probe* const> probes();
const ProbeValue& value_named(const Probe& probe, std::string_view name);  // "" = the first

}  // namespace memflame
