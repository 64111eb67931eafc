// SPDX-License-Identifier: BSD-2-Clause
// Watches the processes of one rule, and makes a window of each stretch of time.
#pragma once

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/runs/run_request.h"
#include "cli/runs/time_axis.h"
#include "cli/watch/process_labels.h"
#include "cli/watch/rule_run.h"
#include "cli/watch/watch_config.h"
#include "cli/watch/window_draft.h"
#include "cli/watch/window_maker.h"
#include "fleet/window.h"
#include "probes/heaps/go/go_heaps.h"

namespace memflame {

class RuleWatcher : public Watcher {
 public:
  // All must outlive this.
  // `go_beside`: if the heaps of Go programs are read beside the run, the probe whose columns they
  // have; else null.
  RuleWatcher(const WatchRule& rule, const Request& request, const RuleLinks& links,
              const Probe* go_beside);

  void begin(LiveRun& run) override;
  bool look(LiveRun& run, double seconds) override;
  void asked(LiveRun& run, double seconds) override;  // SIGUSR1: ends the window
  void end(LiveRun& run, double seconds) override;    // the last window is a short one
  void finished(const RunInfo& info) override;
  bool wants_results(Recording&) override { return false; }

  bool has_ended() const { return has_ended_; }  // counting has begun and ended
  RuleEnd end_reason() const { return end_; }
  const std::string& problem() const { return problem_; }

 private:
  // A run that windows are made of.
  struct Side {
    TimeAxis axis;
    ProcessLabels labels;
    std::optional<WindowDrafts> drafts{};  // made with the first look, which tells the columns
  };
  uint64_t room_for_names(uint64_t table_bytes) const;
  void end_window(LiveRun& run, double seconds);
  std::map<std::string, double> figures(LiveRun& run, double seconds);
  static void add_processes(const LiveRun& run, const Side& side, std::set<pid_t>& counted,
                            bool are_go, WindowDraft& draft);
  WindowDraft draft_of(LiveRun& run, Side& side, const Look& last);
  bool have_cgroups_changed(double seconds);
  void take(Side& side, const Look& look);
  void tell_unwatched();

  const WatchRule& rule_;
  const Request& request_;
  const RuleLinks& links_;
  const Probe* go_beside_;
  Side main_, of_go_;
  std::unique_ptr<GoHeaps> beside_;  // the run of `of_go_`
  const GoHeaps* go_ = nullptr;      // that, or the run itself; null: nobody asked for it
  uint64_t unread_ = 0;              // of it, when the window began
  bool told_unwatched_ = false;
  WindowMaker maker_;
  int64_t began_ns_ = 0;     // CLOCK_REALTIME, of the window
  double window_began_ = 0;  // seconds since counting began
  double next_cgroups_ = 0;
  std::vector<uint64_t> cgroups_;  // ids
  Losses losses_;                  // when the window began
  LossCount untold_;               // before that, while there was no service to have a window
  double share_ = 1;               // of the budget, as the run was told
  double own_seconds_ = 0;         // of memflame's processor time, when the window began
  bool is_asked_ = false, has_ended_ = false;
  int full_windows_ = 0;  // in a row, in which tables of stacks or processes had no room
  RuleEnd end_ = RuleEnd::begins_anew;
  std::string problem_;       // why it ends
  std::future<void> making_;  // last member: ends before what it uses
};

}  // namespace memflame
