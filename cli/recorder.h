// SPDX-License-Identifier: BSD-2-Clause
// Writes a recording while a run goes on, and its verdicts at the end.
//
// The file is written by a thread of its own: a disk may be slow, and thinning out a large file
// takes seconds, in which the kernel's records must be read. The tables belong to that thread
// meanwhile, so the next look waits until it is done.
#pragma once

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/probe_cmd.h"
#include "cli/time_axis.h"
#include "collapse/history/writer.h"
#include "collapse/verdicts/ledger.h"

namespace memflame {

struct RecordOptions {
  double interval = 1;  // seconds between looks
  HistoryLimits limits;
};

class Recorder : public Watcher {
 public:
  // Both must outlive this object.
  Recorder(const RecordOptions& options, const Request& request);

  void begin(LiveRun& run) override;
  bool look(LiveRun& run, double seconds) override;
  // SIGUSR1: a mark.
  void asked(LiveRun& run, double seconds) override;
  void end(LiveRun& run, double seconds) override;
  // Puts the recorded stacks in the place of the run's own, so that names are looked up once.
  bool wants_results(Recording& recording) override;
  void wrote_results(const Recording& recording) override;
  void mark(const std::string& name, double seconds) override;
  // Refuses: the recording itself holds every moment.
  std::future<std::string> picture(LiveRun& run, double seconds) override;

 private:
  void add(Look look);
  bool is_writing() const;
  void finish_writing(bool may_retry);
  void say_verdicts(const Recording& recording) const;

  const Request& request_;
  TimeAxis axis_;
  HistoryLimits limits_;
  std::unique_ptr<HistoryFile> file_;    // until the writer is made
  std::optional<HistoryWriter> writer_;  // made with the first look, which tells the columns
  std::optional<Ledger> ledger_;         // for probes that follow blocks
  Look last_;                            // the newest figures of all tracks
  std::string problem_;                  // of the last write, if it failed
  unsigned marks_ = 0;
  std::vector<Mark> waiting_marks_;
  std::future<void> writing_;  // last member: ends before what it uses
};

}  // namespace memflame
