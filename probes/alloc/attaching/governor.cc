// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/attaching/governor.h"

#include "probes/alloc/settings/rate.h"
#include "probes/loading/loaded_probe.h"
#include "probes/processes/os_ledger.h"
#include "probes/processes/spaces.h"
#include "probes/system/procfs.h"

namespace memflame {

Governor::Governor(double budget_percent, const UprobeMeans& means, uint64_t most_live,
                   bool with_children)
    : budget_(budget_percent, [meter = PriceMeter(means)]() mutable { return meter.measure(); }),
      many_live_(most_live / 2),
      with_children_(with_children) {}

CostReading Governor::read(const LoadedProbe& probe, const std::vector<pid_t>& pids) const {
  const bpf::counters counters = probe.object.counters();
  const auto number = [](uint64_t n) { return static_cast<double>(n); };
  const double entries = number(counters.own[bpf::alloc_entries]);
  const double returns = number(counters.own[bpf::alloc_returns]);
  const double stepped = number(counters.own[bpf::alloc_stepped]);
  const uint64_t timed_runs = counters.own[bpf::alloc_timed_runs];
  const double run_ns =
      timed_runs == 0 ? 0 : number(counters.own[bpf::alloc_timed_ns]) / number(timed_runs);
  const TrapPrices& prices = budget_.overhead().prices;
  CostReading now;
  now.seconds = number(monotonic_ns()) / 1e9;
  now.kept = number(counters.events);
  now.seen = now.kept + number(counters.passed_over);
  now.trap_seconds = ((entries - stepped) * prices.entry + stepped * prices.stepped) / 1e9;
  now.cost_seconds =
      now.trap_seconds + ((entries + returns) * run_ns + returns * prices.returns) / 1e9;
  for (const pid_t pid : pids) now.cpu_seconds += cpu_seconds(pid, with_children_);
  return now;
}

std::optional<CostReading> Governor::add(const CostReading& now) {
  const std::optional<CostReading> between = sums_->add(now);
  if (between) budget_.set_whole(overhead_percent(sums_->cost_seconds(), sums_->cpu_seconds()));
  return between;
}

void Governor::poll(LoadedProbe& probe, const OsLedger& os, const std::function<uint64_t()>& live) {
  const double seconds = static_cast<double>(monotonic_ns()) / 1e9;
  if (sums_ && seconds - looked_ < cost_interval_seconds) return;
  looked_ = seconds;
  const CostReading now = read(probe, os.living());
  if (!sums_) {
    sums_.emplace(now);
    return;
  }
  const std::optional<CostReading> between = add(now);
  const uint64_t distance = budget_.distance(), live_now = live();
  const Room room = room_for(live_now, live_, many_live_);
  const double since_start = now.seconds - sums_->start();
  if (between)
    judge(*between, room, since_start, probe, os);
  else
    budget_.judge(room, since_start);
  if (budget_.distance() == distance) return;
  live_ = live_now;
  set_sampling(probe.object.own_data<bpf::rate>(), budget_.distance());
}

void Governor::judge(const CostReading& between, Room room, double since_start,
                     const LoadedProbe& probe, const OsLedger& os) {
  const double cpu = between.cpu_seconds, cost = between.cost_seconds;
  const double traps = between.trap_seconds;
  const double price = budget_.overhead().prices.entry;
  budget_.judge({.distance = budget_.distance(),
                 .overhead = overhead_percent(cost, cpu),
                 .probes = overhead_percent(traps, cpu - cost + traps),
                 .kept = between.seen > 0 ? between.kept / between.seen : 0,
                 .room = room},
                since_start);
  if (budget_.overhead().prices.entry != price) sums_->restate(read(probe, os.living()));
}

void Governor::finish(const LoadedProbe& probe, const OsLedger& os) {
  if (sums_) add(read(probe, os.pids()));
}

}  // namespace memflame
