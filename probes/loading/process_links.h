// SPDX-License-Identifier: BSD-2-Clause
// Attaches probes to each watched process separately, so that no other process hits them.
//
// The kernel puts a breakpoint only into the memory of the process that a link names
// (uprobe_filter: perf events by pid; uprobe_multi with a pid since 6.10). A fork copies the
// breakpoints, but the parent's links do not run in the child, so a child needs links of its own.
// A link stays with its process through exec.
// Cost: the kernel takes some 10 ms to make the first link (it waits for an RCU grace period) and
// some 40 ms to remove one, so each happens on a thread of its own beside the reader. The time that
// a process runs without probes is summed up and reported.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/unique_fd.h"
#include "probes/bpf/shared.h"
#include "probes/loading/links.h"
#include "probes/loading/mailbox.h"

namespace memflame {

// Which processes get a program. A session link makes the calls of every process that traps return
// through the kernel, also of processes that it is not for (6.13 to 6.18), and each further session
// link makes such a return longer. So one process has session links, and the others have separate
// links for entry and return.
enum class PutFor : uint8_t { each, first, others };

struct Put {
  std::function<int()> program;  // its descriptor, which outlives the links; loads it if need be
  UprobeKind kind = UprobeKind::entry;
  std::vector<UprobeSite> sites;
  PutFor whom = PutFor::each;
};

struct FilePuts {
  UniqueFd file;
  std::vector<Put> puts;  // in the order in which they are attached
};

// Processes whose probes came after their first instruction.
struct LateProcesses {
  uint64_t probed = 0;      // got their probes while they ran
  uint64_t never = 0;       // ended before their probes came
  uint64_t ns = 0;          // without probes, sum over all processes
  uint64_t longest_ns = 0;  // without probes, maximum of one process
  uint64_t failed = 0;      // the kernel refused their probes
  std::string failure;      // why, for one of the failed
  uint64_t headless = 0;    // lost their probes when their first thread ended (perf events)
};

class ProcessLinks {
 public:
  ProcessLinks() = default;
  ~ProcessLinks();
  ProcessLinks(const ProcessLinks&) = delete;
  ProcessLinks& operator=(const ProcessLinks&) = delete;

  // Before start() probes are attached at once, or Error is thrown.
  // After start(), the worker attaches them soon.
  void add(FilePuts file);
  void add(pid_t pid);
  // From now on the processes that take() announced also get probes.
  void start();
  bool is_started() const { return running_; }
  // Whether all processes and files that were told by now have their probes.
  bool is_done() const { return open_ == 0; }

  // A process has begun, become another program, or ended.
  void take(const bpf::space_record& record);
  // Counting begins at `now`: time without probes before that does not count.
  void armed(uint64_t now) { armed_ns_ = now; }

  LateProcesses so_far() const;
  // Removes all probes.
  LateProcesses stop();

 private:
  struct Job {
    // again: a process has become another program and keeps its links. renew: it needs new links.
    enum Kind : uint8_t { begin, again, renew, end, file } kind = begin;
    pid_t pid = 0;
    uint64_t since = 0;  // begin, again, renew: when the process began to run without probes
    FilePuts puts;
  };

  void post(Job job);
  void work(const std::stop_token& stop);
  void close(const std::stop_token& stop);
  void handle(Job job);
  void attach(pid_t pid, uint64_t since);
  void detach(pid_t pid);
  void put(const FilePuts& file, pid_t pid, Links& links) const;
  void count(uint64_t since, uint64_t until, uint64_t& processes);
  void fail(pid_t pid, const std::string& why, uint64_t since);
  uint64_t count_headless() const;
  uint64_t unprobed_ns(uint64_t since, uint64_t until) const;

  std::vector<FilePuts> files_;
  std::set<pid_t> told_;  // processes with a `begin` that is queued or handled
  std::map<pid_t, Links> links_;
  pid_t first_ = 0;                    // the process with the session links
  std::atomic<uint64_t> armed_ns_{0};  // 0: not yet
  LateProcesses late_;                 // under late_mutex_ while the worker runs
  mutable std::mutex late_mutex_;
  bool running_ = false;
  Mailbox<Job> jobs_;
  std::atomic<size_t> open_{0};  // jobs that are not done
  Mailbox<Links> closing_;
  std::jthread worker_, closer_;
};

}  // namespace memflame
