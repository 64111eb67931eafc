// SPDX-License-Identifier: BSD-2-Clause
// Makes pages of a recording while it is written, for browsers that ask for them.
//
// A thread of its own reads the file, as `memflame report` would, at low priority. It rests nine
// times as long as a page took of a processor, so it takes a tenth of one at most; memory is
// bounded by limits on looks and rows.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cli/files/live_file.h"
#include "cli/page/page_server.h"
#include "collapse/report/known_names.h"
#include "collapse/report/report_of.h"
#include "render/report/report_page.h"

namespace memflame {

struct LivePlan {
  ReportOptions options;
  ReportLooks looks;
  bool anonymise = false;
  std::string file;  // what commands call the recording; empty if it has no name
};

class LiveReport {
 public:
  // The server must outlive this object.
  LiveReport(LivePlan plan, PageServer& server);
  ~LiveReport();
  LiveReport(const LiveReport&) = delete;
  LiveReport& operator=(const LiveReport&) = delete;

  // The file that pages are made of. This object must outlive what it returns.
  std::unique_ptr<HistoryFile> watch(std::unique_ptr<HistoryFile> file);
  // What the run knows of its code by now.
  void learn(const std::vector<Module>& modules);
  // The recording is complete.
  void end() { has_ended_ = true; }

 private:
  using Clock = std::chrono::steady_clock;

  void run();
  bool is_due(Clock::time_point now) const;
  void make();
  std::string page_of(const LivePage& live);
  void wait_with(const std::string& why);

  const LivePlan plan_;
  PageServer& server_;
  LiveFile file_;
  std::mutex mutex_;
  std::vector<Module> modules_;  // under the mutex
  std::atomic<bool> has_ended_ = false;
  std::shared_ptr<std::atomic<bool>> gives_up_ = std::make_shared<std::atomic<bool>>(false);
  // The rest is the thread's.
  KnownNames names_;
  LivePage shown_;
  uint64_t shown_bytes_ = 0;  // of the file
  Clock::time_point next_{};
  std::thread thread_;
};

}  // namespace memflame
