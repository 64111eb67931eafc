// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/governor.h"

#include <algorithm>

#include "probes/processes/os_ledger.h"
#include "probes/processes/spaces.h"
#include "probes/system/procfs.h"

namespace memflame::inside {
namespace {

// In ns; docs/benchmarks.md has measurements. A look into the cells and at the countdown; and a
// record without a stack, at a place that no cache has.
constexpr double passed_over_ns = 2, free_ns = 100;
// An agent has places for 65,536 sampled blocks. From about half of them on, a part of the frees of
// other blocks is recorded, for as long as the process lives (agent/block_set.h).
constexpr uint64_t most_live_samples = 32768;

double in_seconds(double count, double ns) { return count * ns / 1e9; }

double percent_of(double cost, double read, double cpu) {
  return overhead_percent(cost + read, cpu + read);
}

}  // namespace

Governor::Governor(double budget_percent, uint64_t most_live, bool with_children)
    : budget_(budget_percent,
              Rates{.start = first_governed_mean, .unavoidable = "the hooks alone cost"}),
      many_live_(most_live == 0 ? most_live_samples : std::min(most_live_samples, most_live / 2)),
      with_children_(with_children) {}

CostReading Governor::reading(const AgentWork& work, const std::vector<pid_t>& pids) {
  const auto sampled = static_cast<double>(work.sampled);
  const auto all = static_cast<double>(work.stand_for);
  budget_.set_prices({.passed_over = passed_over_ns,
                      .sampled = work.sampled == 0 ? 0 : work.sampled_seconds * 1e9 / sampled,
                      .free = free_ns});
  CostReading now;
  now.seconds = static_cast<double>(monotonic_ns()) / 1e9;
  // What is passed over cannot be avoided, so it is to the agent what traps are to the kernel.
  now.trap_seconds = in_seconds(all, passed_over_ns);
  now.cost_seconds = now.trap_seconds + work.sampled_seconds +
                     in_seconds(static_cast<double>(work.frees), free_ns);
  now.read_seconds = work.read_seconds;
  for (const pid_t pid : pids) now.cpu_seconds += cpu_seconds(pid, with_children_);
  return now;
}

std::optional<CostReading> Governor::add(const CostReading& now) {
  const std::optional<CostReading> between = sums_->add(now);
  if (between)
    budget_.set_whole(
        percent_of(sums_->cost_seconds(), sums_->read_seconds(), sums_->cpu_seconds()));
  return between;
}

std::optional<uint64_t> Governor::poll(const std::function<AgentWork()>& work, const OsLedger& os) {
  const double seconds = static_cast<double>(monotonic_ns()) / 1e9;
  if (sums_ && seconds - looked_ < cost_interval_seconds) return std::nullopt;
  looked_ = seconds;
  const AgentWork done = work();
  const CostReading now = reading(done, os.living());
  if (!sums_) {
    sums_.emplace(now);
    return std::nullopt;
  }
  const std::optional<CostReading> between = add(now);
  const uint64_t distance = budget_.distance();
  const Room room = room_for(done.live, live_, many_live_);
  const double since_start = now.seconds - sums_->start();
  if (between) {
    const double cpu = between->cpu_seconds, cost = between->cost_seconds;
    const double unavoidable = between->trap_seconds;
    budget_.judge({.distance = distance,
                   .overhead = percent_of(cost, between->read_seconds, cpu),
                   .probes = overhead_percent(unavoidable, cpu - cost + unavoidable),
                   .room = room},
                  since_start);
  } else {
    budget_.judge(room, since_start);
  }
  if (budget_.distance() == distance) return std::nullopt;
  live_ = done.live;
  return budget_.distance();
}

void Governor::finish(const AgentWork& work, const OsLedger& os) {
  if (sums_) add(reading(work, os.pids()));
}

}  // namespace memflame::inside
