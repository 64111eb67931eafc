// SPDX-License-Identifier: BSD-2-Clause
// Brings the agent into a running process, and takes its hooks out again.
//
// One thread of the process at a time is stopped and looked at; the first that is at a safe point
// (safe_point.h) makes all calls, while the others run on. The agent comes as a memory file that
// the process itself makes and memflame fills, so no file is needed that the process can see, only
// /proc. It stays mapped for ever, as threads may be inside it at any time; the next attach uses it
// again.
//
// An agent that has served a run before has threads that may still write where that run's memory
// was. So it first leaves that run (private memory takes the place of what was shared), and then
// each thread is seen once outside of the agent: from then on it sees that the run is over. Only
// then new memory comes to the same place.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/unique_fd.h"
#include "probes/inside/attach/own_process.h"
#include "probes/inside/attach/safe_point.h"
#include "probes/inside/attach/target.h"
#include "probes/inside/exchange/attach_protocol.h"
#include "probes/unwind/copied_stack.h"

namespace memflame::inside {

struct AttachFigures {
  uint64_t took_ns = 0;
  uint64_t longest_stop_ns = 0;  // of any thread
  uint64_t looked_at = 0;        // threads that were stopped for it
  uint64_t slots = 0, failed_slots = 0;
};

class Attacher {
 public:
  Attacher(pid_t pid, unwind::FindRow rows) : pid_(pid), rows_(std::move(rows)) {}

  // Both run in a process of their own, so that the thread of the target which is held is put right
  // even if memflame is killed. They wait for it, and call `meanwhile` again and again: the agent
  // needs answers. enter() throws Error; leave() returns why hooks are still in, or "".
  // `run`: its address. `listens`: whether memflame has a socket in the network namespace of the
  // process; if not, `listen` is handed one.
  AttachFigures enter(const std::string& run, bool listens, const std::function<void()>& meanwhile,
                      const std::function<void(UniqueFd)>& listen);
  std::string leave(AttachFigures& figures, const std::function<void()>& meanwhile);

 private:
  struct Agent {
    uint64_t request = 0, join = 0;  // addresses
    AttachRequest asked{};
  };
  using Give = OwnProcess::Give;
  std::string in_own_process(const std::function<void(const Give&)>& work,
                             const std::function<void()>& meanwhile,
                             const std::function<void(UniqueFd)>& take);
  void finish();
  void bring_in(const std::string& run, bool listens, const Give& give);
  void give_socket(RemoteCalls& calls, const std::string& run, const Give& give) const;
  void take_out();
  std::unique_ptr<Tracee> safe_thread();
  bool try_threads(std::unique_ptr<Tracee>& found, std::string& why);
  std::unique_ptr<Tracee> hold(pid_t tid);
  void let_go(std::unique_ptr<Tracee>& tracee);
  void let_go_of_late_ones();
  void wait_until_outside();
  void load_agent(RemoteCalls& calls);
  Agent agent_of() const;
  AttachResult ask(RemoteCalls& calls, const Agent& agent, const char* name);
  void leave_run_before();
  void join_run(RemoteCalls& calls, Agent agent, const std::string& run);
  [[noreturn]] void refuse(const std::string& why) const;

  pid_t pid_;
  unwind::FindRow rows_;
  std::unique_ptr<AttachTarget> target_;
  std::vector<std::unique_ptr<Tracee>> late_;  // threads that have not stopped yet
  AttachFigures figures_;
};

}  // namespace memflame::inside
