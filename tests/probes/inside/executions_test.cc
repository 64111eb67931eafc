// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/executions.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <thread>

#include "probes/system/procfs.h"

using namespace memflame::inside;  // NOLINT(google-build-using-namespace): tests only

namespace {

// As an agent does it.
void tell(Exchange& exchange, const std::string& path, uint32_t state = execution_begins) {
  Execution& told = exchange.execution(exchange.control().executions++ % most_executions);
  std::strncpy(told.path, path.c_str(), sizeof(told.path) - 1);
  told.state = state;
}

std::string own_name() { return memflame::read_comm(::getpid()); }

}  // namespace

TEST_CASE("a program in which an agent speaks, or that could not be executed, is settled") {
  Exchange exchange(127, 1);
  Executions executions;
  tell(exchange, "/not/there/" + own_name());
  tell(exchange, "/not/there/col");
  tell(exchange, "/not/there/gone");
  tell(exchange, "/not/there/gone", execution_failed);
  executions.take(exchange);
  CHECK(executions.open() == 2);
  executions.settle(::getpid());
  CHECK(executions.open() == 1);
  CHECK(executions.names() == std::vector<std::string>{"col: no agent spoke in it"});
  executions.settle(::getpid());  // nothing of that name was told
  CHECK(executions.open() == 1);
}

TEST_CASE("of more programs than there are places for, only names are missing") {
  Exchange exchange(127, 1);
  Executions executions;
  for (uint32_t i = 0; i < most_executions + 3; ++i) tell(exchange, "/bin/col");
  executions.take(exchange);
  CHECK(executions.open() == most_executions + 3);
  CHECK(executions.names() == std::vector<std::string>{"col (256 times): no agent spoke in it"});
  // Who speaks is one of those without a name.
  executions.settle(::getpid());
  CHECK(executions.open() == most_executions + 2);
}

TEST_CASE("more programs than can have been executed are damage, and who waits goes on") {
  Exchange exchange(127, 1);
  Executions executions;
  tell(exchange, "/bin/col");
  executions.take(exchange);
  exchange.control().executions = 0xfffffff0;
  for (uint32_t i = 0; i < most_executions; ++i) exchange.execution(i).state = execution_begins;
  Execution& waits = exchange.execution(5);
  waits.holder = 7;
  executions.take(exchange);
  CHECK(executions.is_damaged());
  CHECK(executions.open() == 0);
  CHECK(executions.names().empty());
  CHECK(waits.holder == 0);
}

TEST_CASE("a process that ended while it told, or while it spoke, does not stop others") {
  Exchange exchange(127, 1);
  Executions executions;
  ++exchange.control().executions;
  tell(exchange, "/bin/col");
  executions.take(exchange);
  CHECK(executions.open() == 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  executions.take(exchange);
  CHECK(executions.open() == 2);
  executions.settle(0);
  CHECK(executions.open() == 1);
}

TEST_CASE("a count that a program has written over names nobody") {
  Exchange exchange(127, 1);
  Executions executions;
  tell(exchange, "/usr/bin/col");
  exchange.control().executions += 5;
  for (int i = 0; i < 100 && !executions.is_damaged(); ++i) {
    executions.take(exchange);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  CHECK(executions.is_damaged());
  CHECK(executions.open() == 1);
  CHECK(executions.names() == std::vector<std::string>{"col: no agent spoke in it"});
}

TEST_CASE("names are cut, and only the first few are given, whatever was told") {
  Exchange exchange(127, 1);
  Executions executions;
  tell(exchange, "/x/" + std::string(300, 'n'));
  for (char letter = 'a'; letter < 'k'; ++letter) tell(exchange, std::string(20, letter));
  executions.take(exchange);
  CHECK(executions.open() == 11);
  CHECK(executions.names().size() == 4);
  for (const std::string& name : executions.names()) CHECK(name.find(':') == 15);
}

TEST_CASE("who waits is held for the kernel's probes, or goes on at once") {
  class Static : public Holding {
   public:
    bool bars_agent(pid_t, const std::string& path) override { return path == "/bin/sanitized"; }
    bool holds(pid_t pid, const std::string& path, bool has_agent,
               std::function<bool()> go_on) override {
      if (has_agent && path != "/bin/static") return false;
      held = pid;
      lets_go = std::move(go_on);
      return true;
    }
    bool let_go(pid_t pid) override { return pid == held; }
    pid_t held = 0;
    std::function<bool()> lets_go;
  };
  Exchange exchange(127, 1);
  Executions executions;
  Static holding;
  const auto hold = [&](const std::string& path, uint32_t state = execution_begins) -> Execution& {
    Execution& told = exchange.execution(exchange.control().executions % most_executions);
    told.holder = 7;
    tell(exchange, path, state);
    executions.take(exchange, &holding);
    return told;
  };
  Execution& goes_on = hold("/bin/dynamic");
  CHECK(goes_on.holder == 0);
  CHECK(goes_on.bars_agent == 0);
  CHECK(executions.open() == 1);
  Execution& waits = hold("/bin/static");
  CHECK(waits.holder == 7);
  CHECK(holding.held == 7);
  CHECK(executions.open() == 1);
  CHECK(holding.lets_go());
  CHECK(waits.holder == 0);
  CHECK_FALSE(holding.lets_go());  // it has not waited until now
  hold("/bin/static", execution_failed);
  CHECK(executions.open() == 1);
  // What another process becomes is not waited for, but may have to do without the agent.
  Execution& spawned = exchange.execution(exchange.control().executions % most_executions);
  spawned.is_spawned = 1;
  CHECK(hold("/bin/sanitized").holder == 0);
  CHECK(spawned.bars_agent == 1);
  CHECK(executions.open() == 2);
  // Nobody is held where the kernel's probes cannot come.
  Execution& free = exchange.execution(exchange.control().executions % most_executions);
  free.holder = 7;
  tell(exchange, "/bin/static");
  executions.take(exchange);
  CHECK(free.holder == 0);
  CHECK(executions.open() == 3);
}
