// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/attaching/governor.h"

#include <sys/types.h>
#include <unistd.h>

#include "probes/alloc/rate.h"
#include "probes/loading/loaded_probe.h"
#include "probes/processes/os_ledger.h"
#include "probes/processes/procfs.h"
#include "probes/processes/spaces.h"

namespace memflame {
namespace {

constexpr double interval_seconds = 0.5;
// The least CPU time that clock ticks can measure.
constexpr double least_cpu_seconds = 0.05;

// User and system time.
double cpu_seconds(pid_t pid, bool with_children) {
  static const double tick = 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  const ProcessStat stat = parse_stat(read_file(proc_path(pid, "stat")));
  const uint64_t ticks =
      stat.user_ticks + stat.system_ticks + (with_children ? stat.children_ticks : 0);
  return tick * static_cast<double>(ticks);
}

}  // namespace

Governor::Governor(double budget_percent, const UprobeMeans& means, bool with_children)
    : budget_(budget_percent, [meter = PriceMeter(means)]() mutable { return meter.measure(); }),
      with_children_(with_children) {}

Governor::Reading Governor::read(const LoadedProbe& probe, const std::vector<pid_t>& pids) const {
  const bpf::counters counters = probe.object.counters();
  const auto number = [](uint64_t n) { return static_cast<double>(n); };
  const double entries = number(counters.entries);
  const double returns = number(counters.returns);
  const double stepped = number(counters.stepped);
  const double run_ns =
      counters.timed_runs == 0 ? 0 : number(counters.timed_ns) / number(counters.timed_runs);
  const TrapPrices& prices = budget_.overhead().prices;
  Reading now;
  now.seconds = number(monotonic_ns()) / 1e9;
  now.kept = number(counters.events);
  now.seen = now.kept + number(counters.passed_over);
  now.trap_seconds = ((entries - stepped) * prices.entry + stepped * prices.stepped) / 1e9;
  now.cost_seconds =
      now.trap_seconds + ((entries + returns) * run_ns + returns * prices.returns) / 1e9;
  for (const pid_t pid : pids) now.cpu_seconds += cpu_seconds(pid, with_children_);
  return now;
}

// Adds the times since the last reading. False if they are too short to judge.
bool Governor::add(const Reading& now) {
  const double cpu = now.cpu_seconds - last_.cpu_seconds;
  // The CPU time of a process that ended is missing until its parent waits for it. If the parent is
  // not watched, it stays missing, so start again from here.
  if (cpu < 0 && now.seconds - last_.seconds > 4 * interval_seconds) last_ = now;
  if (cpu < least_cpu_seconds) return false;
  cpu_seconds_ += cpu;
  cost_seconds_ += now.cost_seconds - last_.cost_seconds;
  budget_.set_whole(overhead_percent(cost_seconds_, cpu_seconds_));
  return true;
}

// Corrects the sums: `now` is the last reading with new prices.
void Governor::restate(const Reading& now) {
  cpu_seconds_ += now.cpu_seconds - last_.cpu_seconds;
  cost_seconds_ += now.cost_seconds - last_.cost_seconds;
  last_ = now;
}

void Governor::poll(LoadedProbe& probe, const OsLedger& os) {
  const double seconds = static_cast<double>(monotonic_ns()) / 1e9;
  if (started_ && seconds - looked_ < interval_seconds) return;
  looked_ = seconds;
  const Reading now = read(probe, os.living());
  if (!started_) {
    started_ = true;
    start_ = now.seconds;
    last_ = now;
    return;
  }
  const Reading before = last_;
  if (!add(now)) return;
  last_ = now;
  const double seen = now.seen - before.seen;
  const double cost = now.cost_seconds - before.cost_seconds;
  const double cpu = now.cpu_seconds - before.cpu_seconds;
  const double traps = now.trap_seconds - before.trap_seconds;
  const uint64_t distance = budget_.distance();
  const double price = budget_.overhead().prices.entry;
  budget_.judge({.distance = distance,
                 .overhead = overhead_percent(cost, cpu),
                 .probes = overhead_percent(traps, cpu - cost + traps),
                 .kept = seen > 0 ? (now.kept - before.kept) / seen : 0},
                now.seconds - start_);
  if (budget_.overhead().prices.entry != price) restate(read(probe, os.living()));
  if (budget_.distance() != distance)
    set_sampling(probe.object.own_data<bpf::rate>(), budget_.distance());
}

void Governor::finish(const LoadedProbe& probe, const OsLedger& os) {
  if (started_) add(read(probe, os.pids()));
}

}  // namespace memflame
