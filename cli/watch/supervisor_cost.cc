// SPDX-License-Identifier: BSD-2-Clause
// What the rules take of the host, and what is done when that is too much.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <string>

#include "cli/watch/supervisor.h"
#include "core/process_memory.h"
#include "core/units.h"

namespace memflame {
namespace {

constexpr double start_seconds = 15;  // what a start takes says nothing of the hours to come

std::string percent_text(double percent) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f %%", percent);
  return text.data();
}

}  // namespace

// Processor time of a process since the last call.
double Supervisor::spent_since(Part& part) {
  if (part.pid == 0) return 0;
  const double seconds = processor_seconds_of(part.pid);
  const double spent = std::max(0.0, seconds - part.processor_seconds);
  part.processor_seconds = seconds;
  return spent;
}

uint64_t Supervisor::memory_of(const RulePart& part) {
  if (part.pid == 0) return 0;
  return private_bytes_of(part.pid) + static_cast<uint64_t>(part.table_bytes->get());
}

void Supervisor::look_at_cost(uint64_t now) {
  const double passed = static_cast<double>(now - looked_ns_) / 1e9;
  looked_ns_ = now;
  double used = spent_since(shipper_);
  for (RulePart& part : rules_) {
    const double spent = spent_since(part);
    if (static_cast<double>(now - part.started_ns) / 1e9 > start_seconds) used += spent;
    part.state.processor_seconds += spent;
    const uint64_t taken = part.state.memory_bytes = memory_of(part);
    if (taken <= part.rule.memory) continue;
    say(part.name + " has taken " + iec_bytes(static_cast<int64_t>(taken)) +
        ", more than its part of \"memory\": it begins anew, and blocks from before are not known "
        "any more");
    ::kill(part.pid, SIGTERM);
  }
  const auto processors = static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN));
  keep_within(100 * used / (passed * processors));
}

void Supervisor::keep_within(double percent) {
  const bool can_lower = std::any_of(rules_.begin(), rules_.end(), [](const RulePart& part) {
    return part.pid != 0 && part.rule.is_governed;
  });
  switch (budget_.judge(percent, config_.most_cpu, can_lower)) {
    case HostBudget::Step::give_up:
      give_up_one(percent);
      break;
    case HostBudget::Step::less:
      say("memflame takes " + percent_text(percent) +
          " of this host's processor time, more than \"max_cpu\": rules sample more rarely, "
          "within " +
          percent_text(100 * budget_.share()) + " of \"max_overhead\"");
      break;
    case HostBudget::Step::more:
      if (budget_.share() == 1) say("rules use all of \"max_overhead\" again");
      break;
    case HostBudget::Step::none:
      return;
  }
  budget_share_->set(budget_.share());
}

// The last rule that runs: the first ones matter most.
void Supervisor::give_up_one(double percent) {
  const auto part = std::find_if(rules_.rbegin(), rules_.rend(),
                                 [](const RulePart& each) { return each.pid != 0; });
  if (part == rules_.rend()) return;
  say("memflame takes " + percent_text(percent) +
      " of this host's processor time, more than \"max_cpu\": " + part->name +
      " is given up for ten minutes");
  part->state.kind = RuleState::Kind::given_up;
  ::kill(part->pid, SIGTERM);
}

}  // namespace memflame
