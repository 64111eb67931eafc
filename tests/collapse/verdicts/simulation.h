// SPDX-License-Identifier: BSD-2-Clause
// A program of blocks that are born and die, as a probe sees it: looks with surveys, by the rules
// of core/history.h. Everything follows from the seed.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <random>
#include <vector>

#include "core/history.h"

namespace memflame {

// The columns of a simulated run: live, live-count, total, total-count.
std::vector<ValueType> block_types();

class Simulation {
 public:
  static constexpr double forever = 1e18;

  // A block of S bytes is sampled with the probability 1 - exp(-S / sample_bytes), and counts for
  // 1 / that. 0: every block is seen.
  explicit Simulation(uint64_t seed, double sample_bytes = 0);

  TrackId add_track(SpaceId space = SpaceId{1});
  const std::vector<Track>& tracks() const { return tracks_; }

  // Random numbers: uniform in [0, 1), exponential with a mean.
  double uniform();
  double exponential(double mean);

  // Times are seconds, and births are in the order of time.
  // A block that dies by itself.
  void allocate(double at_s, TrackId track, int64_t size, double life_s);
  // One that dies when it is freed by its number.
  size_t allocate(double at_s, TrackId track, int64_t size);
  void free(double at_s, size_t block);

  // The figures at a time. Deaths until then have happened.
  Look look(double at_s, std::vector<SpaceId> ended = {}, bool is_survey = true);

 private:
  struct Block {
    double born_s = 0;
    TrackId track;
    int64_t bytes = 0, blocks = 0;
    bool is_seen = false, lives = true;
  };
  struct Death {
    double at_s = 0;
    size_t block = 0;
    bool operator>(const Death& other) const { return at_s > other.at_s; }
  };
  void kill(size_t block);
  void kill_until(double at_s);
  void add_stretch(double at_s);
  void add_cells(Look& look) const;

  std::mt19937_64 random_;
  double sample_bytes_;
  std::vector<Track> tracks_{Track{}};
  std::vector<std::vector<int64_t>> values_{{}};
  std::vector<bool> is_changed_{false};
  std::vector<Block> blocks_;
  std::vector<size_t> unused_;
  std::priority_queue<Death, std::vector<Death>, std::greater<>> deaths_;
  std::vector<uint64_t> begins_;
  uint64_t surveyed_ns_ = 0;
};

}  // namespace memflame
