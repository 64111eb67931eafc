// SPDX-License-Identifier: BSD-2-Clause
// Probes for each watched process alone, so that no other process hits them.
//
// The kernel puts a breakpoint into the memory of the processes that a link names, and into no
// other (uprobe_filter: perf events by pid; uprobe_multi with a pid since 6.10). A fork copies the
// breakpoints, but the parent's links do not run in the child, so a child needs links of its own.
// Making the first one takes the kernel some 10 ms (it waits for an RCU grace period), removing one
// some 40 ms; both happen on threads of their own, beside the reader. How long each process ran
// before its probes came is summed up. A link goes with its process through exec.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "probes/alloc/attaching/mailbox.h"
#include "probes/bpf/shared.h"
#include "probes/loading/links.h"
#include "probes/unique_fd.h"

namespace memflame {

// Which processes get a program. A session link asks for a return on behalf of every process that
// traps, also those it is not for (6.13 to 6.18), and with several of them each return is longer:
// one process has session links, the others have separate ones for entry and return.
enum class PutFor : uint8_t { each, first, others };

struct Put {
  int program = -1;  // a descriptor that outlives the links
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
  uint64_t probed = 0;      // got them while they ran
  uint64_t never = 0;       // ended first
  uint64_t ns = 0;          // in all, from their start to their probes, or to their end
  uint64_t longest_ns = 0;  // of one process
  uint64_t failed = 0;      // the kernel refused
  std::string failure;      // why, for one of them
  uint64_t headless = 0;    // lost their probes when their first thread ended (perf events)
};

class ProcessLinks {
 public:
  ProcessLinks() = default;
  ~ProcessLinks();
  ProcessLinks(const ProcessLinks&) = delete;
  ProcessLinks& operator=(const ProcessLinks&) = delete;

  // Processes are added before files. A file gets its probes at once before start(), and soon after
  // that; throws Error.
  void add(FilePuts file);
  void add(pid_t pid);
  // From now on the processes that take() announced also get probes.
  void start();

  // A process has begun, become another program, or ended.
  void take(const bpf::space_record& record);
  // Whatever processes did before `now` is outside of the run.
  void armed(uint64_t now) { armed_ns_ = now; }

  // Up to now.
  LateProcesses so_far();
  // Removes all probes.
  LateProcesses stop();

 private:
  struct Job {
    // again: a process that had its `begin` has become another program, and keeps its links.
    enum Kind : uint8_t { begin, again, renew, end, file } kind = begin;
    pid_t pid = 0;
    uint64_t since = 0;  // begin, again, renew: runs without probes from then on
    FilePuts puts;
  };

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
  std::set<pid_t> told_;  // whose `begin` is on its way or handled
  std::map<pid_t, Links> links_;
  pid_t first_ = 0;                    // has the session links
  std::atomic<uint64_t> armed_ns_{0};  // 0: not yet
  LateProcesses late_;                 // of the worker; of the caller once it has stopped
  std::mutex late_mutex_;
  bool running_ = false;
  Mailbox<Job> jobs_;
  Mailbox<Links> closing_;
  std::jthread worker_, closer_;
};

}  // namespace memflame
