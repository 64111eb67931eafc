// SPDX-License-Identifier: BSD-2-Clause
#include "cli/page/live_report.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <iostream>
#include <sstream>
#include <utility>

#include "cli/page/report_secrets.h"
#include "core/error.h"
#include "probes/run/privileges.h"

namespace memflame {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds shortest_renewal{2000};
constexpr int rests = 9;  // as many times as the work before has taken processor time
constexpr milliseconds tick{100};
// The target goes first; where it and others want all processors, a page still comes in seconds.
constexpr int low_priority = 5;

// A signal is for the thread that counts.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_{};
};

// Processor time of this thread, and of the processes that have read names for it. memflame has no
// other children that end before the run does.
std::chrono::nanoseconds processor_time() {
  timespec own{};
  rusage children{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &own);
  ::getrusage(RUSAGE_CHILDREN, &children);
  std::chrono::nanoseconds sum =
      std::chrono::seconds(own.tv_sec) + std::chrono::nanoseconds(own.tv_nsec);
  for (const timeval& time : {children.ru_utime, children.ru_stime})
    sum += std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
  return sum;
}

}  // namespace

LiveReport::LiveReport(LivePlan plan, PageServer& server)
    : plan_(std::move(plan)), server_(server) {
  wait_with("memflame begins to record. The report comes as soon as there is something to show.");
  const BlockedSignals blocked;
  thread_ = std::thread([this] { run(); });
}

LiveReport::~LiveReport() {
  *gives_up_ = true;
  thread_.join();
}

std::unique_ptr<HistoryFile> LiveReport::watch(std::unique_ptr<HistoryFile> file) {
  return file_.observed(std::move(file));
}

void LiveReport::learn(const std::vector<Module>& modules) {
  const std::lock_guard lock(mutex_);
  if (modules.size() != modules_.size()) modules_ = modules;
}

void LiveReport::run() {
  keep_privileges_for(Step::writing);  // of this thread
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), low_priority);
  try {
    while (!*gives_up_) {
      const bool is_asked = server_.is_asked(tick);
      if (is_asked && is_due(Clock::now())) make();
    }
  } catch (const std::exception& error) {
    if (!*gives_up_)
      std::cerr << std::string("memflame: ") + error.what() + "; the recording goes on\n";
  }
}

// The last page is made at once: there is no run any more that it could disturb.
bool LiveReport::is_due(Clock::time_point now) const {
  if (shown_.has_ended) return false;
  return has_ended_ || (now >= next_ && file_.size() > shown_bytes_);
}

void LiveReport::make() {
  const LivePage live{.version = shown_.version + 1, .has_ended = has_ended_};
  const uint64_t bytes = file_.size();
  const std::chrono::nanoseconds before = processor_time();
  try {
    const std::string page = page_of(live);
    server_.show(live_state(live), page);
    shown_ = live;
  } catch (const std::exception& error) {
    if (*gives_up_) return;
    shown_.has_ended = live.has_ended;
    // A page that is shown stays; at the end it learns that nothing follows.
    if (shown_.version == 0 || shown_.has_ended)
      wait_with(std::string("There is nothing to show: ") + error.what());
  }
  shown_bytes_ = bytes;
  next_ = Clock::now() +
          std::max<Clock::duration>(shortest_renewal, rests * (processor_time() - before));
}

std::string LiveReport::page_of(const LivePage& live) {
  ReportOptions options = plan_.options;
  {
    const std::lock_guard lock(mutex_);
    options.modules = modules_;
  }
  const std::string name = plan_.file.empty() ? "the recording" : plan_.file;
  options.names = &names_;
  Source source = file_.open(name, gives_up_);
  Report report = report_of(source, options);
  report.file = plan_.file;
  hide_secrets(report, plan_.anonymise);
  ReportLooks looks = plan_.looks;
  looks.live = live;
  std::ostringstream page;
  write_report(page, report, looks);
  return std::move(page).str();
}

void LiveReport::wait_with(const std::string& why) {
  server_.show(live_state(shown_), waiting_page(why, shown_.has_ended));
}

}  // namespace memflame
