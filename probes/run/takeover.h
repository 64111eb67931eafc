// SPDX-License-Identifier: BSD-2-Clause
// The second collector of a run inside: the kernel's probes count the processes that no agent sees,
// each until it executes another program. They are loaded beside the reader when the first such
// process comes, which takes the verifier half a second: so most runs do not pay for it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/recording.h"
#include "probes/run/run.h"

namespace memflame {

class Session;

class Takeover {
 public:
  // From when on a process is counted.
  enum class Cover : uint8_t { none, late, from_start };

  // `run`: that of the agents, whose library is `agent`.
  Takeover(const ProbeRun& run, const std::string& agent);
  ~Takeover();

  // Lets a process go on that waits; called with whether it is counted, returns whether it has
  // waited.
  using GoOn = std::function<bool(bool is_counted)>;
  // Counts what this process does from now on, as soon as that is possible. If `go_on` is given, it
  // has done nothing yet.
  void take(pid_t pid, GoOn go_on = {});
  // Counts what it does from the first instruction of the program on that it is about to execute.
  void hold(pid_t pid, const std::string& program, GoOn go_on);
  // What counted processes, and their children, have executed since the last call: that is not
  // counted.
  struct Left {
    pid_t pid = 0;
    std::string name;      // of the process, since then
    uint64_t time_ns = 0;  // CLOCK_MONOTONIC
  };
  std::vector<Left> take_left();
  // It is counted no more. False: it was not.
  bool let_go(pid_t pid);
  void poll();
  void disarm();  // counting ends

  bool counts(pid_t pid) const;
  Cover cover(pid_t pid) const;
  size_t count() const { return count_; }  // of processes that were ever counted
  // Why nothing can be counted; "" if nothing is known to be wrong.
  const std::string& failure() const { return failure_; }

  std::optional<Recording> so_far();
  Losses losses() const;
  std::vector<pid_t> living() const;
  int64_t resident_bytes() const;
  uint64_t table_bytes() const;
  // What was seen; nothing can be asked after that but its figures.
  std::optional<Recording> finish();
  void describe(RunInfo& info) const;  // adds to those of the agents

 private:
  struct Wanted {
    pid_t pid = 0;
    std::string program;  // that it is about to execute; "" = it runs already
    GoOn go_on{};         // while it is held
  };
  struct Begun;
  class Leavers;
  static std::unique_ptr<Begun> begin(const ProbeRun& run, Observer& observer,
                                      std::vector<Wanted> wanted);
  void want(Wanted wanted);
  void see_whether_begun();
  void settle();
  void give_up(const std::string& why);

  ProbeRun run_;
  std::unique_ptr<Leavers> leavers_;
  std::vector<Wanted> wanted_, added_;  // not targets yet; those whose probes are still to come
  std::map<pid_t, Cover> covers_;
  size_t count_ = 0;
  std::future<std::unique_ptr<Begun>> coming_;
  std::unique_ptr<Session> session_;
  std::string failure_;
};

}  // namespace memflame
