// SPDX-License-Identifier: BSD-2-Clause
// Names and prints the results of `memflame leaks`, on a thread apart from the one that reads the
// ring.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "cli/leaks/leaks_gate.h"
#include "cli/leaks/leaks_report.h"
#include "cli/leaks/leaks_verdicts.h"
#include "cli/runs/request.h"
#include "core/recording.h"
#include "probes/run/snapshot.h"

namespace memflame {

struct LeaksOptions {
  double interval = 5;  // seconds
  uint64_t count = 0;   // of reports; 0 = until the end
  size_t top = 10;
  LeaksOrder order = LeaksOrder::evidence;
  VerdictOptions verdicts;
  bool by_count = false;  // pictures show blocks, not bytes
  uint64_t older_ns = 500'000'000;
  std::string needs_ages;  // the option given that needs the ages of blocks; "" = none
  bool show_blocks = false;
  size_t blocks_per_stack = 20;
  bool trace = false;
  bool exact = false;
  bool reachable = false;         // the last report says to which blocks pointers lead
  bool json_lines = false;        // reports are lines of JSON, not text
  std::optional<LeaksGate> gate;  // whether a build may pass
};

// One look at a run, as values: the run goes on without changing them.
struct LeaksLook {
  std::string lines;  // --trace: printed before
  std::string clock;
  double seconds = 0;  // since counting began
  std::shared_ptr<const Snapshot> snapshot;
  JudgedStacks judged;                     // of the snapshot
  std::vector<const LiveStack*> unnamed;   // of these, those without known names
  std::vector<const LiveStack*> unjudged;  // may be cut; only names can tell
  Recording recording;                     // spaces and files, where names are needed
  bool forget = false;                     // drop the names known so far
  Losses losses;
  std::vector<std::string> notes;
  uint64_t left_out = 0;  // looks before this one that were due while the writer was busy
};

class LeaksWriter {
 public:
  // Without a format in the request, text goes to `lines`; otherwise pictures. All must outlive
  // this.
  LeaksWriter(const LeaksOptions& options, const Request& request, std::ostream* lines);
  ~LeaksWriter();  // waits for the look that is being written
  LeaksWriter(const LeaksWriter&) = delete;
  LeaksWriter& operator=(const LeaksWriter&) = delete;

  // All of these throw the error of a look that was taken before.
  bool is_busy();  // whether take() would have to wait
  void take(LeaksLook&& look);
  bool is_idle();                        // all is written
  void write(const std::string& lines);  // after what was taken
  void wait();                           // until all is written

 private:
  struct Names {
    std::string process;
    std::vector<std::string> frames;  // innermost first
    std::string_view one_time_blocks;
  };

  void run();
  void write_look(LeaksLook& look);
  void print(LeaksLook& look);
  void draw(LeaksLook& look) const;
  void name(LeaksLook& look);
  void excuse_one_time_blocks(JudgedStacks& stacks) const;
  void count_cut_stacks(LeaksLook& look) const;
  ReportedStack describe(const LeaksLook& look, const JudgedStack& judged) const;
  void flush();
  void rethrow();  // with the lock held

  const LeaksOptions& options_;
  const Request& request_;
  std::ostream* lines_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<LeaksLook> waiting_;
  bool is_writing_ = false, ends_ = false;
  std::exception_ptr failure_;

  // Used by the writing thread only.
  std::unordered_map<uint64_t, Names> names_;               // by key of the stack
  std::unordered_map<uint64_t, std::optional<Loss>> cuts_;  // by key: why it is cut
  std::unordered_map<uint64_t, Amount> before_;             // in the last report
  std::optional<Amount> live_before_;

  std::thread thread_;  // last member: starts when all others are there
};

}  // namespace memflame
