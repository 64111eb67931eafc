// SPDX-License-Identifier: BSD-2-Clause
#include "cli/watch/sender.h"

#include <unistd.h>

#include <csignal>
#include <iostream>
#include <utility>

#include "core/sandbox.h"
#include "fleet/output.h"
#include "fleet/shipper.h"
#include "render/text/clean_text.h"

namespace memflame {
namespace {

constexpr double last_try = 10;  // seconds

}  // namespace

int send_windows(const std::shared_ptr<Spool>& spool, const std::map<std::string, Setting>& outputs,
                 const std::shared_ptr<const RuleBoard>& board) {
  drop_capabilities();
  // Ctrl-C goes to all processes of a terminal, but the supervisor says when this one ends. Threads
  // that begin later block these signals, too.
  sigset_t blocked;
  ::sigemptyset(&blocked);
  for (const int signal : {SIGTERM, SIGINT, SIGQUIT, SIGHUP}) ::sigaddset(&blocked, signal);
  ::pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  std::map<std::string, std::unique_ptr<WindowOutput>> made;
  for (const auto& [name, setting] : outputs) made.emplace(name, make_output(setting));
  const auto say = [](const std::string& line) {
    std::cerr << "memflame: " + clean_text(line) + "\n";
  };
  Shipper shipper(spool, std::move(made), say, {}, board);
  sigset_t stop;
  ::sigemptyset(&stop);
  ::sigaddset(&stop, SIGTERM);
  int arrived = 0;
  ::sigwait(&stop, &arrived);
  if (!shipper.finish(last_try)) ::_exit(0);
  return 0;
}

}  // namespace memflame
