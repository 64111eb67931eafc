// SPDX-License-Identifier: BSD-2-Clause
// A probe: one BPF object, how it is attached, and what is made of what it sends. The table of all
// probes is in probe.cc; adding one is a folder and a row there.
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
  size_t column;  // of `types` below, which is drawn
};

// What a probe makes of its events in user space. Kernel-side sums need no events and use the base
// class as it is.
class Accounting {
 public:
  Accounting() = default;
  Accounting(const Accounting&) = delete;
  Accounting& operator=(const Accounting&) = delete;
  virtual ~Accounting() = default;

  // A space has begun to be watched. A fresh one has just become another program, and has nothing
  // in it but what the kernel put there; others can be read in /proc if the process still lives.
  virtual void begin(SpaceId, pid_t, bool /*fresh*/) {}
  virtual void fork(SpaceId /*parent*/, SpaceId /*child*/) {}
  // A process is watched, before the probe is attached or later.
  virtual void on_target(pid_t) {}
  // As soon as the record is read.
  virtual void on_process(const bpf::space_record&) {}
  // Counting has begun, and has ended.
  virtual void armed() {}
  virtual void disarmed() {}
  virtual void on_event(const bpf::event_record&) {}
  virtual void on_call(const bpf::call_record&) {}
  virtual void on_candidate(const bpf::candidate_record&) {}
  // About every 10 ms while counting.
  virtual void on_poll(Session&) {}
  // Going on would do harm: counting has to end, whatever the user has said.
  virtual bool wants_end() const { return false; }
  // For a look at a run that goes on: what the stack with this key ends in, and its group. False
  // leaves it out, as its memory is another one's, too.
  virtual bool place(Session&, uint64_t /*key*/, RawStack&, std::string& /*group*/) { return true; }
  // Adds the rows, keyed by stack hash. The default takes the kernel's sums. Also called while
  // counting goes on, so it must not change what is counted.
  virtual void finish(Session&, Recording&);
  // Adds what only this probe can have lost. Called twice a second for the status line.
  virtual void add_losses(Losses&) const {}
  // The recording is whole. Throws Error when nothing of its processes could be seen; may add
  // notes.
  virtual void judge(Recording&) {}
  // Adds what only this probe can say.
  virtual void describe(RunInfo&) const {}
};

struct Probe {
  std::string_view name;
  std::string_view help;         // one line
  std::string_view description;  // for --help: what is measured, in which unit
  std::string_view nothing;      // "no call of …": said when nothing happened
  std::span<const ProbeValue> values;
  // Columns for options.value ("minor"/"major" for faults, pages for resident pages), and their
  // variances when events are sampled.
  std::vector<ValueType> (*types)(const ProbeOptions& options);
  // How many events brought a stack the kernel's sums; null when the accounting adds the rows.
  int64_t (*events)(const ProbeOptions& options, const int64_t* sums) = nullptr;
  std::span<const std::byte> (*object)();
  void (*configure)(const ProbeOptions&, bpf::config&, BpfObject&);
  void (*attach)(Session&);
  // A file with code has come into a watched space; `late` when counting had begun. May be null.
  void (*attach_module)(Session&, const Module&, bool late);
  // Sets recording.meta.reconciliation and notes from the rows and session.os_growth().
  void (*reconcile)(Session&, Recording&);
  std::unique_ptr<Accounting> (*accounting)(const ProbeOptions&);
  bool has_blocks = false;  // follows blocks: its object has a map `blocks`
  bool whole_system;        // can watch all processes at once
  bool user_stacks = true;  // false: stacks are the kernel's alone, and belong to no process
};

std::span<const Probe* const> probes();
const ProbeValue& value_named(const Probe& probe, std::string_view name);  // "" = the first

}  // namespace memflame
