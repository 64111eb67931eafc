// SPDX-License-Identifier: BSD-2-Clause
#include "tests/collapse/verdicts/scenarios.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <list>
#include <unordered_map>

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

namespace {

class PageCache {
 public:
  PageCache(Simulation& simulation, const CacheServer& tracks)
      : simulation_(simulation), tracks_(tracks) {}

  void get(double now, size_t number) {
    const auto found = places_.find(number);
    if (found != places_.end()) {
      pages_.splice(pages_.begin(), pages_, found->second);
      return;
    }
    const auto text = static_cast<int64_t>(801 + number % 400);
    pages_.push_front({number,
                       {simulation_.allocate(now, tracks_.texts, text),
                        simulation_.allocate(now, tracks_.nodes, 56),
                        simulation_.allocate(now, tracks_.places, 24)}});
    places_[number] = pages_.begin();
    if (pages_.size() <= 20000) return;
    for (const size_t block : pages_.back().blocks) simulation_.free(now, block);
    places_.erase(pages_.back().number);
    pages_.pop_back();
  }

 private:
  struct Page {
    size_t number = 0;
    std::array<size_t, 3> blocks{};
  };
  Simulation& simulation_;
  const CacheServer& tracks_;
  std::list<Page> pages_;  // the most recently used first
  std::unordered_map<size_t, std::list<Page>::iterator> places_;
};

}  // namespace

CacheServer run_cache_server(uint64_t seed, double seconds, double sample_bytes,
                             const LookTaker& take) {
  Simulation simulation(seed, sample_bytes);
  CacheServer server;
  for (TrackId* track : {&server.notes, &server.texts, &server.nodes, &server.places})
    *track = simulation.add_track();
  PageCache cache(simulation, server);
  Looks looks(simulation, take);
  constexpr double per_second = 2000;
  for (double now = simulation.exponential(1 / per_second); now < seconds;
       now += simulation.exponential(1 / per_second)) {
    looks.until(now);
    const bool leaks = simulation.uniform() < 0.02;
    simulation.allocate(now, server.notes, 480, leaks ? Simulation::forever : 0.0001);
    cache.get(now, static_cast<size_t>(simulation.uniform() * 200000));
  }
  looks.until(seconds);
  return server;
}

}  // namespace memflame
