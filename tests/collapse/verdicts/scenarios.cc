// SPDX-License-Identifier: BSD-2-Clause
#include "tests/collapse/verdicts/scenarios.h"

#include <algorithm>
#include <list>

namespace memflame {
namespace {

constexpr int64_t block_bytes = 256;

double short_life(Simulation& simulation) { return std::min(simulation.exponential(0.1), 0.5); }

struct Plan {
  double blocks = 0, kept = 0;
  double until = 1;     // births end after this part of the run
  double freed_at = 2;  // and kept blocks die then
};

Plan plan_of(Behaviour behaviour) {
  switch (behaviour) {
    case Behaviour::linear:
      return {1800, 1800};
    case Behaviour::freed_at_end:
      return {1710, 1710, 0.98, 0.98};
    case Behaviour::bounded:
      return {1838, 864, 0.5};
    case Behaviour::mostly_freed:
      return {179391, 183};
    case Behaviour::temporary:
      return {179391, 0};
  }
  return {};
}

// The looks that are due.
class Looks {
 public:
  Looks(Simulation& simulation, const LookTaker& take) : simulation_(simulation), take_(take) {}
  void until(double at_s) {
    for (; next_s_ <= at_s; next_s_ += 1) take_(simulation_.look(next_s_), simulation_);
  }

 private:
  Simulation& simulation_;
  const LookTaker& take_;
  double next_s_ = 1;
};

}  // namespace

void run(Behaviour behaviour, uint64_t seed, double seconds, double sample_bytes,
         const LookTaker& take) {
  Simulation simulation(seed, sample_bytes);
  const TrackId track = simulation.add_track();
  Looks looks(simulation, take);
  const Plan plan = plan_of(behaviour);
  const double mean_gap = seconds * plan.until / plan.blocks;
  double now = simulation.exponential(mean_gap);
  for (; now < seconds * plan.until; now += simulation.exponential(mean_gap)) {
    looks.until(now);
    const bool is_kept = simulation.uniform() < plan.kept / plan.blocks;
    const double life = !is_kept            ? short_life(simulation)
                        : plan.freed_at < 1 ? plan.freed_at * seconds - now
                                            : Simulation::forever;
    if (is_kept || now + life < seconds - 0.01) simulation.allocate(now, track, block_bytes, life);
  }
  looks.until(seconds - 0.5);
  take(simulation.look(seconds), simulation);
}

Server run_server(uint64_t seed, const ServerOptions& options, const LookTaker& take) {
  Simulation simulation(seed, options.sample_bytes);
  Server server;
  server.requests = simulation.add_track();
  server.leak = options.shares_stack ? server.requests : simulation.add_track();
  server.cache = simulation.add_track();
  Looks looks(simulation, take);
  constexpr double per_second = 2000;
  constexpr size_t entries = 20000;
  std::list<size_t> used;  // the least recently used first
  for (double now = simulation.exponential(1 / per_second); now < options.seconds;
       now += simulation.exponential(1 / per_second)) {
    looks.until(now);
    simulation.allocate(now, server.requests, 1024, short_life(simulation));
    if (simulation.uniform() < 0.02)
      simulation.allocate(now, server.leak, 1024, Simulation::forever);
    if (used.size() > entries / 2 && simulation.uniform() < options.hits) {
      const auto hit = static_cast<size_t>(simulation.uniform() * 64);
      used.splice(used.end(), used, std::next(used.begin(), static_cast<std::ptrdiff_t>(hit)));
      continue;
    }
    if (used.size() == entries) {
      simulation.free(now, used.front());
      used.pop_front();
    }
    used.push_back(simulation.allocate(now, server.cache, 1024));
  }
  looks.until(options.seconds);
  return server;
}

}  // namespace memflame
