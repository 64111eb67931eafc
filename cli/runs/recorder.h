// SPDX-License-Identifier: BSD-2-Clause
// Writes a recording while a run goes on, and its verdicts at the end.
//
// The file is written by a thread of its own: a disk may be slow, and thinning out a large file
// takes seconds, in which the kernel's records must be read. The tables belong to that thread
// meanwhile, so the next look waits until it is done.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/runs/run_request.h"
#include "cli/runs/time_axis.h"
#include "collapse/history/writer.h"
#include "collapse/verdicts/ledger.h"
#include "probes/run/event_log.h"

namespace memflame {

struct RecordOptions {
  double interval = 1;  // seconds between looks
  EventOptions events;  // if ProbeOptions::events is set
  HistoryLimits limits;
  // Where the recording is written; by default the request's output.
  std::function<std::unique_ptr<HistoryFile>()> file{};
  // Learns at each look what the run knows of its code.
  std::function<void(const std::vector<Module>&)> learn{};
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
  void add(std::optional<Look> look, EventBatch events);
  void let_go(LiveRun& run);
  void follow(const Look& look);
  EventBatch take_events(LiveRun& run);
  bool is_writing() const;
  bool has_room() const;
  void finish_writing(bool may_retry);
  void say_verdicts(const Recording& recording) const;

  const Request& request_;
  const std::function<std::unique_ptr<HistoryFile>()> make_file_;
  const std::function<void(const std::vector<Module>&)> learn_;
  TimeAxis axis_;
  HistoryLimits limits_;
  EventOptions event_options_;
  std::unique_ptr<HistoryFile> file_;    // until the writer is made
  std::optional<HistoryWriter> writer_;  // made with the first look, which tells the columns
  std::optional<Ledger> ledger_;         // for probes that follow blocks
  Look last_;                            // the newest figures of all tracks
  std::string name_;                     // of the file
  std::string problem_;                  // of the last write, if it failed
  unsigned marks_ = 0;
  uint64_t lost_events_ = 0;
  std::vector<Mark> waiting_marks_;
  Leaving leaving_;            // is being written
  double writing_since_ = 0;   // seconds since counting began
  std::future<void> writing_;  // last member: ends before what it uses
};

}  // namespace memflame
