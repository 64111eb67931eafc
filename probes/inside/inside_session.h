// SPDX-License-Identifier: BSD-2-Clause
// One run inside: what the processes' agents say becomes the same figures, looks and recordings as
// those of the kernel's collector (probes/run/session.h).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/recording.h"
#include "probes/inside/bell.h"
#include "probes/inside/block_events.h"
#include "probes/inside/code_tables.h"
#include "probes/inside/exchange/exchange.h"
#include "probes/inside/governor.h"
#include "probes/inside/guests.h"
#include "probes/inside/live_blocks.h"
#include "probes/inside/ring_reader.h"
#include "probes/inside/selection.h"
#include "probes/inside/stack_tree.h"
#include "probes/inside/ticks.h"
#include "probes/inside/uncovered.h"
#include "probes/inside/witness.h"
#include "probes/probe.h"
#include "probes/processes/processes.h"
#include "probes/run/estates.h"
#include "probes/run/event_log.h"
#include "probes/run/live_run.h"
#include "probes/run/looks.h"
#include "probes/run/run.h"
#include "probes/run/run_figures.h"
#include "probes/run/takeover.h"
#include "probes/run/waste.h"
#include "probes/stacks/stack_log.h"

namespace memflame::inside {

class InsideSession : public LiveRun, private RunFigures {
 public:
  // `first`: the command, or the processes that the agent comes into. `agent`: the path of its
  // library. All must outlive this.
  InsideSession(const Probe& probe, const ProbeOptions& options, Exchange& exchange,
                const std::vector<pid_t>& first, const std::string& agent);

  // For an agent that comes into a running process, see guests.h. serve() gives agents what they
  // ask for while nothing is counted.
  uint32_t expect(pid_t pid);
  // A process that was asked for by name or control group, but into which the agent cannot come.
  void leave_out(pid_t pid, const std::string& why);
  // Processes that were asked for and begin later: brings the agent into one, and returns whether
  // it could.
  void set_enter(std::function<bool(pid_t)> enter) { enter_ = std::move(enter); }
  void refresh(uint32_t index) { guests_.refresh(index); }
  const std::map<pid_t, uint32_t>& guests() const { return guests_.living(); }
  void serve() { round(); }

  uint64_t arm();  // counting begins; when that was (CLOCK_MONOTONIC)
  // Counting ends; agents go quiet.
  void disarm();
  // Takes what comes for about 10 ms, 50 ms if blocks are sampled and hardly any come, or until the
  // only process to be watched ends.
  void poll();

  Snapshot snapshot(const SnapshotOptions& options) override;
  Recording recording_of(std::span<const LiveStack* const> stacks, bool by_count) override;
  Look look(History& history, bool survey) override;
  EventBatch take_events(History& history) override;
  void wait_no_more() override;
  size_t waiting_events() const override { return events_ ? events_->size() : 0; }
  void read_pss() override { processes_.read_pss(); }
  std::vector<TrackId> forget(const Look& look, History& history) override;
  Leaving hand_over(History& history) override;
  void let_go(const Leaving& leaving, History& history) override;
  TrackId track_of(uint64_t key) const override;
  Recording so_far() override;
  Losses losses() const override {
    Losses losses = own_losses();
    if (takeover_) losses.add(takeover_->losses());
    return losses;
  }
  std::optional<Overhead> overhead() const override {
    return governor_ ? std::optional(governor_->budget().overhead()) : std::nullopt;
  }
  void set_budget_share(double share) override {
    if (governor_) governor_->set_share(share);
  }
  std::string sampling() const override { return is_sampled() ? sampling_in_words() : ""; }
  std::vector<pid_t> living() const override;
  int64_t resident_bytes() const override {
    return processes_.os().resident_bytes() + (takeover_ ? takeover_->resident_bytes() : 0);
  }
  std::optional<double> memory_pressure() const override { return processes_.memory_pressure(); }

  // The processes of the run that live, whether or not they are counted.
  std::vector<pid_t> of_run() const { return uncovered_.of_run(); }
  // Everything that was seen. The session cannot be used after that.
  Recording finish();
  void describe(RunInfo& info) const;
  bool samples() const { return sample_bytes_ != 0; }
  // --max-overhead cannot be kept: counting is to end.
  bool wants_end() const { return governor_ && governor_->budget().is_over(); }
  bool wants_python() const { return options_.python_heap; }
  // "; …" if unwind tables found no room, without which a stack cannot be read.
  std::string tables_in_words() const;
  bool met(pid_t pid) const { return guests_.knows(pid); }  // whether one has in this process
  // Whether it runs a program whose calls no agent sees.
  bool has_found(pid_t pid) const { return uncovered_.has_found(pid); }
  // Whether the blocks of Python's allocator were counted in any process.
  bool has_python() const;
  // Bytes that were resident at most in a command that no agent has spoken in; 0 = not known.
  int64_t silent_bytes() const { return uncovered_.silent_bytes(); }
  const bpf::counters& counters() const { return blocks_.counters(); }
  // What it shares with its agents. All else is memflame's own.
  uint64_t table_bytes() const override {
    return exchange_.bytes() + (takeover_ ? takeover_->table_bytes() : 0);
  }

 private:
  // Figures of stacks are those of the live blocks; a stack's key is its number.
  const StackLog& stacks() const override { return log_; }
  const Processes& processes() const override { return processes_; }
  void catch_up() override;
  void add_figures(size_t probe, std::span<const ValueType> types, Rows& rows) override;
  void for_each_block(const VisitBlock& visit) override;
  void for_each_sum(const VisitSum& visit) override;
  bool is_sampled() const override { return sample_bytes_ != 0; }
  std::string sampling_in_words() const override;
  uint64_t unseen_frees() const override { return blocks_.counters().unseen_frees; }

  // Without a heartbeat for so long, agents take memflame for gone.
  static constexpr uint32_t patience_ms = 2000;

  static uint64_t key_of(uint32_t stack) { return uint64_t{1} << 63 | stack; }
  // The key of a space's live blocks for which the live table had no room.
  static uint64_t key_of_lost(uint32_t space) {
    return uint64_t{space} << 8 | bpf::note_live_table_full;
  }
  // Agents give up when memflame was stopped, or had no processor, while their rings were full.
  void beat();
  void see_if_given_up();
  size_t read_rings();
  size_t read_records();
  size_t round();
  void rest();
  bool wait(uint64_t ns);
  // How long to wait after a round with N records.
  uint64_t next_wait(size_t records);
  // Takes what has come meanwhile: to be called often where something takes longer than rings take
  // to be full.
  void breathe();
  void name_stacks();
  Estates::Taken take_over_ended();
  void move_figures(Estates::Taken& taken);
  Looks& looks(History& history);
  std::vector<ProcessWaste> waste_now();
  Losses own_losses() const;
  Recording sums();
  void add_taken_over(Recording& recording);
  void add_notes(Recording& recording) const;
  void add_python_notes(std::vector<std::string>& notes) const;
  AgentWork work() const;
  bool is_watched(pid_t pid) const;
  void look_for_others();
  void settle_executions();
  void save_memory();

  const Probe& probe_;
  ProbeOptions options_;
  uint64_t sample_bytes_;  // when counting begins; 0 = all blocks
  Exchange& exchange_;
  pid_t command_ = 0;  // that memflame has started; 0 = none
  UniqueFd end_;       // readable when the only process to be watched has ended; none after that
  Ticks ticks_;
  Processes processes_;
  StackTree stacks_;
  LiveBlocks blocks_;
  RingReader reader_;
  CodeTables code_;
  Uncovered uncovered_;
  std::optional<Witness> witness_;    // without that
  std::optional<Takeover> takeover_;  // with ProbeOptions::takes_over; tells uncovered_ at its end
  Guests guests_;
  const std::function<bool(pid_t)> knows_ = [this](pid_t pid) { return guests_.knows(pid); };
  const std::function<void(pid_t)> loses_ = [this](pid_t pid) { guests_.lose(pid); };
  Bell bell_;
  std::optional<Selection> selection_;  // if processes were asked for by name or control group
  std::function<bool(pid_t)> enter_;
  StackLog log_;
  Estates estates_;
  std::optional<Looks> looks_;
  std::optional<EventLog> events_;  // if they are asked for
  std::optional<BlockEvents> told_;
  std::vector<RawStackId> stack_ids_;  // in the history, by number; none until an event needs it
  std::optional<Governor> governor_;   // with --max-overhead
  uint64_t read_ns_ = 0;               // of processor time, if there is a governor
  uint64_t armed_ns_ = 0;
  uint64_t given_up_ns_ = 0;  // when agents were found to have taken memflame for gone; 0 = never
  uint64_t round_ticks_ = 0;  // TSC, when the last round began
  uint64_t longest_silence_ticks_ = 0;  // between two beats, since counting began
  bool is_written_over_ = false;        // a program has put something else into Control::reading
  uint64_t idle_ns_ = 0;                // how long to wait when nothing comes
  uint64_t next_thrift_ns_ = 0;         // when to save memory again
  uint64_t ends_ = 0;                   // of spaces, when that was done last
  bool counts_ = false;
};

}  // namespace memflame::inside
