// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/agent_counts.h"

#include <unistd.h>

#include <algorithm>

#include "probes/inside/exchange/exchange.h"

namespace memflame::inside {
namespace {

// No call into the agent takes less.
constexpr uint64_t ticks_of_a_call = 16;
// What the user part of an address space has room for.
constexpr uint64_t most_block_bytes = uint64_t{1} << 47U;
// To make an address space takes a processor longer. Some may have begun before the clock was read.
constexpr uint64_t ns_of_a_beginning = 50'000, begun_before = 1024;
// Clocks differ a little, and a wait may have begun before the clock was read.
constexpr uint64_t slack_part = 64, slack_us = 20'000, slack_ticks = 100'000'000;

uint64_t product(uint64_t a, uint64_t b) {
  uint64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? UINT64_MAX : result;
}

uint64_t sum(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

int64_t byte_sum(int64_t a, uint64_t b) {
  return static_cast<int64_t>(std::min<uint64_t>(sum(static_cast<uint64_t>(a), b), INT64_MAX));
}

// The largest value of each figure.
AgentFigures most_in(const AgentFigures& figures, const AgentTime& time) {
  const uint64_t calls = time.ticks / ticks_of_a_call;
  return {.reentered = calls,
          .lost = calls,
          .lost_bytes = product(figures.lost, most_block_bytes),
          .waited_us = time.us,
          .ringless = calls,
          .ringless_bytes = product(figures.ringless, most_block_bytes),
          .ringless_frees = calls,
          .namespaces = calls,
          .checked = calls,
          .differing = figures.checked,
          .sample_ticks = time.ticks,
          .scripts_unread = calls,
          .python = python_states - 1};
}

}  // namespace

AgentFigures figures_of(const Process& process) {
  return {.reentered = taken_once(process.reentered),
          .lost = taken_once(process.lost),
          .lost_bytes = taken_once(process.lost_bytes),
          .waited_us = taken_once(process.waited_us),
          .ringless = taken_once(process.ringless),
          .ringless_bytes = taken_once(process.ringless_bytes),
          .ringless_frees = taken_once(process.ringless_frees),
          .namespaces = taken_once(process.namespaces),
          .checked = taken_once(process.checked),
          .differing = taken_once(process.differing),
          .sample_ticks = taken_once(process.sample_ticks),
          .scripts_unread = taken_once(process.scripts_unread),
          .python = taken_once(process.python)};
}

AgentTime AgentTime::of_threads(uint64_t threads) const {
  return {.us = product(sum(us, us / slack_part + slack_us), threads),
          .ticks = product(sum(ticks, ticks / slack_part + slack_ticks), threads)};
}

bool can_be(const AgentFigures& figures, const AgentTime& time) {
  const AgentFigures most = most_in(figures, time);
  for (const auto field :
       {&AgentFigures::reentered, &AgentFigures::lost, &AgentFigures::lost_bytes,
        &AgentFigures::ringless, &AgentFigures::ringless_bytes, &AgentFigures::ringless_frees,
        &AgentFigures::namespaces, &AgentFigures::waited_us, &AgentFigures::checked,
        &AgentFigures::differing, &AgentFigures::sample_ticks, &AgentFigures::scripts_unread})
    if (figures.*field > most.*field) return false;
  return figures.python <= most.python;
}

uint64_t most_begun(uint64_t ns) {
  static const auto processors =
      static_cast<uint64_t>(std::max(::sysconf(_SC_NPROCESSORS_CONF), 1L));
  return sum(begun_before, product(ns / ns_of_a_beginning, processors));
}

void AgentCounts::add(const AgentFigures& figures, const AgentTime& time) {
  if (figures.python < python_states) ++python.at(figures.python);
  if (!can_be(figures, time)) {  // then none of them means anything
    ++damaged;
    return;
  }
  reentered = sum(reentered, figures.reentered);
  lost = sum(lost, figures.lost);
  ringless = sum(ringless, figures.ringless);
  ringless_frees = sum(ringless_frees, figures.ringless_frees);
  namespaces = sum(namespaces, figures.namespaces);
  waited_us = sum(waited_us, figures.waited_us);
  checked = sum(checked, figures.checked);
  differing = sum(differing, figures.differing);
  sample_ticks = sum(sample_ticks, figures.sample_ticks);
  scripts_unread = sum(scripts_unread, figures.scripts_unread);
  lost_bytes = byte_sum(lost_bytes, figures.lost_bytes);
  ringless_bytes = byte_sum(ringless_bytes, figures.ringless_bytes);
}

}  // namespace memflame::inside
