// SPDX-License-Identifier: BSD-2-Clause
// The process that `memflame watch` is: it starts a process for each rule and one that sends
// windows, starts them again when they end, and keeps all of them within what the host may spend.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/watch/child.h"
#include "cli/watch/host_budget.h"
#include "cli/watch/rule_run.h"
#include "cli/watch/watch_config.h"
#include "fleet/rule_board.h"
#include "fleet/spool.h"

namespace memflame {

class Supervisor {
 public:
  // `read` reads the configuration (again, at SIGHUP). Throws Error.
  Supervisor(std::function<WatchConfig()> read, ReadRule read_rule);

  // Until SIGTERM or SIGINT; then what was seen is put into the spool, and what can be sent is
  // sent. Call it while there is one thread.
  void run();

 private:
  // A process that is to run all the time.
  struct Part {
    std::string name;  // for people: "rule checkout"
    pid_t pid = 0;     // 0: it waits to be started
    uint64_t started_ns = 0, next_ns = 0;
    double pause = 0;              // seconds, before it is started the next time
    double processor_seconds = 0;  // of the process that runs
  };
  struct RulePart : Part {
    WatchRule rule;
    RuleState state{};
    std::string problem{};  // the last error of its process
    // Where its process leaves the error that it ends with.
    std::shared_ptr<SharedText> words{};
    std::shared_ptr<SharedNumber> table_bytes{};  // of its tables in the kernel
    std::shared_ptr<SharedNumber> unwatched{};    // see RuleLinks
    std::shared_ptr<SharedNumber> lost{};         // of all its processes
  };

  static void say(const std::string& text);  // on standard error
  void start_what_is_due();
  void start(RulePart& part);
  void start_shipper();
  void take_ended();
  void ended(Part& part, int status);
  void ended_rule(RulePart& part, int status);
  void show_rules() const;
  static double spent_since(Part& part);
  static uint64_t memory_of(const RulePart& part);
  void look_at_cost(uint64_t now);
  void keep_within(double percent);
  void give_up_one(double percent);
  void reload();
  void stop_rule(RulePart& part);
  void stop_all();
  bool wait_for_all(double seconds);

  std::function<WatchConfig()> read_;
  ReadRule read_rule_;
  WatchConfig config_;
  std::shared_ptr<Spool> spool_;
  std::shared_ptr<RuleBoard> board_ = std::make_shared<RuleBoard>();
  std::vector<RulePart> rules_;
  std::vector<pid_t> leaving_;  // rules that the configuration no longer has
  Part shipper_{.name = "the sender"};
  uint64_t looked_ns_ = 0;
  HostBudget budget_;
  std::shared_ptr<SharedNumber> budget_share_ = std::make_shared<SharedNumber>(1);
};

}  // namespace memflame
