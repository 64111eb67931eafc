// SPDX-License-Identifier: BSD-2-Clause
// Reports outstanding blocks every N seconds during a run, and once at its end.
#pragma once

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <unordered_set>
#include <vector>

#include "cli/leaks/leaks_writer.h"
#include "cli/runs/run_request.h"
#include "probes/run/snapshot.h"

namespace memflame {

class LeaksWatcher : public Watcher {
 public:
  // With a format in the request, pictures instead of text. Both must outlive this.
  LeaksWatcher(const LeaksOptions& options, const Request& request);

  void begin(LiveRun& run) override;
  void called(const bpf::call_record& call, const std::string& function) override;
  bool look(LiveRun& run, double seconds) override;
  void asked(LiveRun& run, double seconds) override;
  void end(LiveRun& run, double seconds) override;
  bool wants_results(Recording& recording) override;
  bool has_failed() const override { return has_failed_; }

 private:
  void report(LiveRun& run, double seconds, bool is_last);
  LeaksLook take_look(LiveRun& run, double seconds);
  void check(const Recording& recording);
  void say_missing(const Recording& recording) const;
  void add_reach_by_track(const LiveRun& run);
  void add_scans(CheckedRun& checked) const;
  void choose_stacks(const LiveRun& run, LeaksLook& look);

  const LeaksOptions& options_;
  const Request& request_;
  std::unique_ptr<std::ostream> lines_;
  std::string calls_;  // --trace: not printed yet
  // Keys of the stacks whose names the writer has, and of those that it has judged: cut or not.
  std::unordered_set<uint64_t> named_, judged_;
  std::shared_ptr<const Snapshot> snapshot_;  // the last one
  std::vector<std::string> said_;             // the notes of the last report
  LeaksVerdicts verdicts_;
  std::optional<LeaksGate> gate_;
  bool has_failed_ = false;
  std::vector<ReachSums> reach_;  // at the end, by track
  double end_s_ = 0;
  uint64_t start_ns_ = 0;
  uint64_t reports_ = 0, left_out_ = 0;
  double next_;
  std::optional<LeaksWriter> writer_;  // last member: ends first
};

}  // namespace memflame
