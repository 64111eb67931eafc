// SPDX-License-Identifier: BSD-2-Clause
// memflame top: looks at the live blocks of a run again and again, and shows them.
#pragma once

#include <atomic>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cli/leaks/leaks_verdicts.h"
#include "cli/runs/run_request.h"
#include "cli/screen/top_names.h"
#include "cli/screen/top_screen.h"
#include "probes/run/snapshot.h"
#include "render/top/top_history.h"

namespace memflame {

struct TopOptions {
  double interval = 1;  // seconds
  TopColumn sort = TopColumn::bytes;
  VerdictOptions verdicts;
  std::string command_output;  // the file
};

class TopWatcher : public Watcher {
 public:
  // Both must outlive this.
  TopWatcher(const TopOptions& options, const Request& request);
  ~TopWatcher() override;

  void begin(LiveRun& run) override;
  bool look(LiveRun& run, double seconds) override;
  void asked(LiveRun& run, double seconds) override;
  void end(LiveRun& run, double seconds) override;
  bool wants_results(Recording&) override { return true; }
  void wrote_results(const Recording& recording) override;
  std::future<std::string> picture(LiveRun& run, double seconds) override;

 private:
  struct Wish {
    std::string file;
    std::optional<std::promise<std::string>> answer;  // for the file's name
  };

  void take_look(LiveRun& run, double seconds);
  void describe_run(const LiveRun& run, double seconds);
  void add_rows(const LiveRun& run, double seconds);
  void show();
  void add_names();
  void name(LiveRun& run);
  void draw(LiveRun& run, double seconds);
  void write(Recording recording, const Snapshot& snapshot, const JudgedRun* judged, Wish& wish);
  void start(std::function<void()> work);
  std::string next_file();
  void tell(const std::string& text);

  const TopOptions& options_;
  const Request& request_;
  LeaksVerdicts verdicts_;
  TopHistory history_;
  double next_ = 0;  // seconds since counting began
  TopData data_;     // of the last look
  JudgedStacks judged_;
  std::shared_ptr<const Snapshot> snapshot_;  // what judged_ points to
  double rate_since_ = 0;                     // seconds, of the ledger's look at allocations_
  int64_t allocations_ = 0;
  std::deque<Wish> wishes_;  // pictures to be written
  unsigned pictures_ = 0;    // the number in the name of the last one
  bool was_left_ = false;    // the user has ended the run
  bool runs_on_ = false;     // and the target goes on

  // By key of the stack; the names of those that are asked for come later.
  std::unordered_map<uint64_t, NamedTopStack> names_;
  std::unordered_set<uint64_t> asked_;
  std::mutex mutex_;
  std::unordered_map<uint64_t, NamedTopStack> new_names_;
  std::vector<std::string> told_;  // also printed at the end
  std::exception_ptr failure_;
  std::atomic<bool> is_busy_ = false;
  std::optional<TopScreen> screen_;
  std::jthread worker_;  // last member, so that it ends before what it uses
};

}  // namespace memflame
