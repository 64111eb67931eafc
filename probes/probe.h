// SPDX-License-Identifier: BSD-2-Clause
// A probe: one BPF object, how it is attached, and how its records become rows. probe.cc has the
// table of all probes; a new probe is a folder and a row there.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/recording.h"
#include "probes/bpf/shared.h"
#include "probes/options/option_row.h"
#include "probes/options/options.h"

namespace memflame {

class BpfObject;
class EventFeed;
class OsLedger;
class RecordingRows;
class Rows;
class Spaces;
class StackLog;
struct LoadedProbe;
struct RunInfo;
struct StackMove;

// One word after --value.
struct ProbeValue {
  std::string_view name;
  std::string_view help;
  size_t column;  // index in Probe::types of the column that is drawn
};

// One line of --help's examples.
struct ProbeExample {
  std::string_view arguments;  // the words behind "memflame PROBE"
  std::string_view meaning;
};

// One run of a probe, in user space: attaches the probe, and turns its events into rows. A probe
// whose sums are made in the kernel gets no events, and uses most of this class as it is.
class Accounting {
 public:
  Accounting() = default;
  Accounting(const Accounting&) = delete;
  Accounting& operator=(const Accounting&) = delete;
  virtual ~Accounting() = default;

  // Attaches the probe. The targets and their mappings are already known.
  virtual void attach(LoadedProbe&, Spaces&) = 0;
  // A file with code has come into a watched space. True if functions in it are probed now.
  virtual bool attach_module(LoadedProbe&, const Module&) { return false; }

  // A space is watched from now on. If `fresh`, exec has just made it and it holds only what the
  // kernel put there. Otherwise /proc shows what it holds, if the process still lives.
  virtual void begin(SpaceId, pid_t, bool /*fresh*/) {}
  virtual void fork(SpaceId /*parent*/, SpaceId /*child*/) {}
  // A process is a target. Called before attach(), for each process that exists by then.
  virtual void on_target(pid_t) {}
  // A process has begun, changed or ended. Called as soon as the record is read from the ring.
  virtual void on_process(const bpf::space_record&) {}
  // Whether all processes and files that were named by now have their probes.
  virtual bool is_attached() const { return true; }
  virtual void armed(uint64_t /*since_ns*/) {}  // counting has begun (CLOCK_MONOTONIC)
  virtual void disarmed() {}                    // counting has ended
  virtual void on_event(const bpf::event_record&) {}
  // The name of the function that was called. With ProbeOptions::calls.
  virtual std::string function_of(const bpf::call_record&) const { return ""; }
  // A record that only this probe sends: its type is bpf::record_own or above.
  virtual void on_own_record(std::span<const std::byte> /*record*/) {}
  // Tells of each block, if ProbeOptions::events is set and it can; null before counting begins.
  virtual EventFeed* events() { return nullptr; }
  // About every 10 ms while counting.
  virtual void on_poll(LoadedProbe&, const OsLedger&) {}
  // True if the run must end because it would do harm. Counting ends then in any case.
  virtual bool wants_end() const { return false; }
  virtual void set_budget_share(double /*share*/) {}  // LiveRun::set_budget_share()
  // Gives back the figures of stacks, by their keys, whose spaces have ended, and what else is kept
  // of these spaces. Nothing adds to them any more.
  virtual void forget(LoadedProbe&, std::span<const uint64_t> keys,
                      std::span<const SpaceId> spaces);
  // Adds the figures of stacks and notes to those that the log has of others: see Estates. Sets
  // StackMove::has_blocks. Nothing adds to the first any more.
  virtual void move(LoadedProbe&, std::span<StackMove> moves, StackLog& log);
  // False: this probe's figures stay with the processes, also with those that have ended.
  virtual bool can_move() const { return true; }
  // Adds an event to figures of one that do not count it: the sums of a copied stack.
  virtual void add_event(std::span<int64_t> /*sums*/) const {}
  // For a snapshot: adds what the stack with this key ends in, and its group. False leaves the
  // stack out, because its memory belongs to another stack, too.
  virtual bool place(const LoadedProbe&, const StackLog&, uint64_t /*key*/, RawStack&,
                     std::string& /*group*/) {
    return true;
  }
  // Whether figures are estimates, and the rate in words: "1 sample per 512 KiB"; "" = not known.
  virtual bool is_sampled() const { return false; }
  virtual std::string sampling_in_words() const { return ""; }
  // Adds the figures of all stacks as they are now, with a value for each of the types. The default
  // takes the kernel's sums and the sums of copied stacks. Also called while counting goes on, so
  // it must not change what is counted.
  virtual void add_figures(const LoadedProbe&, std::span<const ValueType>, Rows&);
  // The same for a recording, with what else belongs there: candidates, notes.
  virtual void finish(const LoadedProbe&, RecordingRows&);
  // The number of events that a stack's sums in the kernel contain; for the default of
  // add_figures().
  virtual int64_t events_of(const int64_t* /*sums*/) const { return 0; }
  // Sets recording.meta.reconciliation and notes from the rows and the figures of the OS.
  virtual void reconcile(const LoadedProbe&, const OsLedger&, Recording&) {}
  // Adds losses that only this probe can have. Called twice a second if there is a status line.
  virtual void add_losses(const bpf::counters&, Losses&) const {}
  // Called when the recording is complete. May add notes; throws Error if nothing of the processes
  // could be seen.
  virtual void judge(Recording&) {}
  // Adds facts for --summary that only this probe knows.
  virtual void describe(RunInfo&) const {}
};

struct Probe {
  std::string_view name;
  std::string_view help;         // one line
  std::string_view description;  // for --help: what is measured, in which unit
  std::string_view nothing;      // "no call of …": printed if nothing happened
  std::span<const ProbeValue> values;
  std::span<const ProbeExample> examples{};  // besides those that all probes have
  // The columns for options.value, and their variances if events are `sampled`.
  std::vector<ValueType> (*types)(const ProbeOptions& options, bool sampled);
  // Makes the options that only this probe has; null if it has none.
  std::unique_ptr<ProbeSettings> (*settings)() = nullptr;
  std::span<const std::byte> (*object)();
  // Before all else: begins to make the tables that take the kernel long.
  void (*make_tables)(const ProbeOptions&, BpfObject&) = nullptr;
  void (*configure)(const ProbeOptions&, bpf::config&, BpfObject&);
  std::unique_ptr<Accounting> (*accounting)(const ProbeOptions&);
  bool has_blocks = false;    // follows blocks: its object has a map `blocks`
  bool events = false;        // can tell of each block (ProbeOptions::events)
  bool inside = false;        // an agent in the processes can do it, too (--collect)
  bool on_functions = false;  // attaches to functions in files, also in files mapped later
  bool whole_system;          // can watch all processes at once
  bool user_stacks = true;    // false: takes only kernel stacks, which belong to no process
};

std::span<const Probe* const> probes();

ProbeOptions default_options(const Probe& probe);
// One row for each option that sets a field of `options`.
std::vector<OptionRow> option_rows(const Probe& probe, ProbeOptions& options);
// Call it when all rows are set. Throws Error(usage) if options contradict each other.
void settle_options(ProbeOptions& options);

const ProbeValue& value_named(const Probe& probe, std::string_view name);  // "" = the first

}  // namespace memflame
