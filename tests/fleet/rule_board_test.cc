// SPDX-License-Identifier: BSD-2-Clause
#include "fleet/rule_board.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace memflame;

TEST_CASE("another process reads what was shown last") {
  RuleBoard board;
  CHECK(board.read().empty());
  const pid_t pid = ::fork();
  if (pid == 0) {
    board.show({{"a", {.kind = RuleState::Kind::waits}}, {"b", {}}}, 1);
    board.show({{"a", {.kind = RuleState::Kind::given_up, .starts = 3, .memory_bytes = 5}},
                {std::string(64, 'x'), {}}},
               0.25);
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  CHECK(board.budget_share() == 0.25);
  const auto rules = board.read();
  REQUIRE(rules.size() == 2);
  CHECK(rules.at("a").kind == RuleState::Kind::given_up);
  CHECK(rules.at("a").starts == 3);
  CHECK(rules.at("a").memory_bytes == 5);
  CHECK(rules.contains(std::string(64, 'x')));
}

TEST_CASE("rules beyond the room are left out") {
  RuleBoard board;
  std::map<std::string, RuleState> rules;
  for (size_t i = 0; i < RuleBoard::room + 3; ++i) rules[std::to_string(i)];
  board.show(rules, 1);
  CHECK(board.read().size() == RuleBoard::room);
}
