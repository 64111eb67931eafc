// SPDX-License-Identifier: BSD-2-Clause
// Processes of a run inside whose allocations no agent sees: static programs, those that gain
// rights, and those whose environment was cleared; those with an allocator in the program itself,
// which comes before the agent for all their calls; those whose agent cannot speak to memflame;
// also one in which an agent spoke, and that runs such a program now. They are looked for in /proc
// four times a second, or more rarely if there are many. Agents tell of those that end before that,
// in the processes that executed them (executions.h): so what goes unseen is what a process that is
// not seen has started, and that ends as soon.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "probes/inside/executions.h"
#include "probes/inside/witness.h"
#include "probes/processes/pace.h"
#include "probes/run/takeover.h"

namespace memflame::inside {

class Uncovered : private Holding {
 public:
  // `first`: processes that are looked at, with those that descend from them. `agent`: the path of
  // its library. One without a folder came into a running process: programs that are executed later
  // do not have it.
  Uncovered(std::vector<pid_t> first, std::string agent)
      : first_(std::move(first)), agent_(std::move(agent)), attached_(!agent_.starts_with('/')) {}

  // Without a takeover: what it tells of is named.
  void hear_from(Witness& witness) { witness_ = witness.works() ? &witness : nullptr; }
  // They are to be counted by it. It tells who waited in vain, also when it ends: so it ends first.
  void relieve_by(Takeover& takeover) { takeover_ = &takeover; }

  // An agent has spoken in a process that runs a new program.
  void meet(pid_t pid);
  // The same, but it runs the program that it was watched with before.
  void hear(pid_t pid);
  // An agent has spoken, but could not join. Its process goes on by `go_on`.
  void miss(pid_t pid, const std::string& why, Takeover::GoOn go_on);
  // An agent has spoken, but is not let in.
  void turn_away(pid_t pid) { executions_.settle(pid); }
  // What processes have executed, before those in which an agent speaks are met.
  void take_executions(Exchange& exchange) { executions_.take(exchange, this); }
  // What processes without an agent have executed, as the kernel tells.
  void take_left();
  // Looks at this process, too, into which an agent comes.
  void add(pid_t pid);
  // The processes that are looked at, and those that descend from them: in a run with a command
  // also orphans, which are memflame's children by then (adopt_orphans()).
  std::vector<pid_t> of_run() const;
  bool has_found(pid_t pid) const;  // it runs a program whose calls no agent sees
  bool is_counted_by_kernel(pid_t pid) const {
    return takeover_ != nullptr && takeover_->counts(pid);
  }
  // Does not look at this process any more: somebody else counts it.
  void forget(pid_t pid);
  // Whether it has the agent of a process that is looked at, though that may not have spoken yet.
  bool has_silent_agent(pid_t pid) const;
  // Looks if it is time. `knows`: whether an agent has spoken in a process. `lose` is called for
  // one in which that agent is no more.
  void look(
      const std::function<bool(pid_t)>& knows,
      const std::function<void(pid_t)>& lose = [](pid_t) {}) {
    pace_.look([&] { look_at_all(knows, lose); });
  }

  // Looks a last time. Whether all is known of what was executed; if not, some are starting.
  bool settle(const std::function<bool(pid_t)>& knows, const std::function<void(pid_t)>& lose);
  // What has not shown by now whether it can be seen began just before the end.
  void excuse_starting(const std::function<bool(pid_t)>& knows);

  // Bytes that were resident at most in a command that no agent has ever spoken in; 0 = not known.
  int64_t silent_bytes() const { return silent_bytes_; }
  size_t count() const;
  bool is_told_damaged() const { return executions_.is_damaged(); }
  // How many were counted by the kernel's probes, but not from their beginning.
  size_t late() const;
  // "2 processes were not seen (sh 12: it is linked statically, +1.2 MiB; …)"; none if all were.
  std::vector<std::string> notes() const;

 private:
  struct Found {
    pid_t pid = 0;
    std::string name, why, program;
    int64_t first = 0, last = 0;  // bytes that were resident when it was looked at
    Takeover::Cover cover = Takeover::Cover::none;
  };
  pid_t process_of(pid_t own) const;
  pid_t process_called(pid_t own) const;
  bool lacks_agent(pid_t pid) const;
  bool bars_agent(pid_t own, const std::string& path) override;
  bool holds(pid_t own, const std::string& path, bool has_agent,
             std::function<bool()> go_on) override;
  bool let_go(pid_t own) override;
  Takeover::Cover cover_of(const Found& found) const;  // of the program that runs now
  bool is_of_run(pid_t pid) const;
  void keep(pid_t pid);
  void find(pid_t pid, const std::string& why = "", Takeover::GoOn go_on = {});
  void retire(pid_t pid);
  void follow(const Takeover::Left& left);
  std::string why_silent(pid_t pid) const;
  std::string why_unseen() const;
  std::vector<std::string> names(Takeover::Cover cover) const;
  std::vector<const Found*> all_found(Takeover::Cover cover) const;
  void look_at_all(const std::function<bool(pid_t)>& knows, const std::function<void(pid_t)>& lose);
  std::vector<pid_t> starting(const std::function<bool(pid_t)>& knows) const;
  bool is_covered(pid_t pid, bool has_spoken, const std::string& mark) const;
  bool is_uncovered(pid_t pid, bool has_spoken);
  void look_at_silent(pid_t pid);

  std::vector<pid_t> first_;
  std::string agent_;
  bool attached_;
  Pace pace_{250'000'000, 400};
  std::set<pid_t> left_out_;
  std::map<pid_t, std::string> covered_;  // program_mark() of what was looked at
  std::set<std::string> heard_;           // program_mark() where an agent spoke
  std::map<pid_t, uint64_t> heard_ns_;    // and when, if others may be taken over
  bool has_forgotten_ = false;            // some of them
  std::set<pid_t> suspects_;              // without an agent at the look before
  std::map<pid_t, Found> found_;
  std::vector<Found> earlier_;  // in processes that run another program now
  int64_t silent_bytes_ = 0;
  size_t beyond_ = 0;  // those for which there was no room
  Takeover* takeover_ = nullptr;
  Witness* witness_ = nullptr;
  Executions executions_;
};

}  // namespace memflame::inside
